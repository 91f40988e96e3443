"""The pure-Python twin of `foyer_native.jsontext`: `json` of the standard library, numbers as spelled.

Slow and obvious. Positions are those of octets: where a text is walked it is Latin-1, a character an octet.
"""

import json
import re
from typing import Any, NoReturn

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[^\s"]+')


class Spelled(str):
    """A number as it is spelled. Unequal to the string of the same characters."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Spelled) and str(self) == str(other)

    __hash__ = str.__hash__

    def __repr__(self) -> str:
        return str(self)


def decode(text: bytes) -> Any:
    """The value, numbers `Spelled`. Raises `ValueError` where `text` is no JSON."""
    return json.loads(text.decode("utf-8"), parse_int=Spelled, parse_float=Spelled, parse_constant=_refuse)


def encode(value: Any) -> bytes:
    """Compact JSON of what `decode` gives."""
    if isinstance(value, Spelled):
        return str(value).encode("ascii")
    if isinstance(value, dict):
        return b"{%b}" % b",".join([encode(name) + b":" + encode(each) for name, each in value.items()])
    if isinstance(value, list):
        return b"[%b]" % b",".join([encode(each) for each in value])
    return json.dumps(value).encode("ascii")


def _refuse(constant: str) -> NoReturn:
    raise ValueError(constant)


def compact(text: bytes) -> bytes | None:
    try:
        decode(text)
    except ValueError:
        return None
    return "".join(_TOKEN.findall(text.decode("utf-8"))).encode("utf-8")


def pairs(text: bytes, at: int = 0) -> list[tuple[str, int, int]]:
    """Of a compact object. Raises `ValueError` where none begins."""
    return [(name, begin, end) for name, _, begin, end in _walked(text, at)]


def _walked(text: bytes, at: int) -> list[tuple[str, int, int, int]]:
    """Each member: its name, where that begins, where its value begins and ends."""
    walked = text.decode("latin-1")
    if not walked.startswith("{", at):
        raise ValueError("no object")
    found: list[tuple[str, int, int, int]] = []
    decoder = json.JSONDecoder()
    begin = at + 1
    while not walked.startswith("}", begin):
        _, named = decoder.raw_decode(walked, begin)
        _, end = decoder.raw_decode(walked, named + 1)
        found.append((json.loads(text[begin:named]), begin, named + 1, end))
        begin = end + 1 if walked.startswith(",", end) else end
    return found


def members(text: bytes, names: tuple[str, ...], at: int = 0) -> dict[str, tuple[int, int, int]]:
    """Of a compact object. Raises `ValueError` where none begins."""
    found = {name: where for name, *where in _walked(text, at)}
    return {name: (found[name][0], found[name][1], found[name][2]) for name in names if name in found}


def without(text: bytes, names: tuple[str, ...], begin: int, end: int) -> bytes:
    """Of the members of a compact object that lie between."""
    between = b"{%b}" % text[begin:end].strip(b",")
    return b",".join([between[at:end] for name, at, _, end in _walked(between, 0) if name not in names])


def elements(text: bytes, at: int = 0) -> list[tuple[int, int]]:
    """Of a compact array. Raises `ValueError` where none begins."""
    walked = text.decode("latin-1")
    if not walked.startswith("[", at):
        raise ValueError("no array")
    found: list[tuple[int, int]] = []
    begin = at + 1
    while not walked.startswith("]", begin):
        _, end = json.JSONDecoder().raw_decode(walked, begin)
        found.append((begin, end))
        begin = end + 1 if walked.startswith(",", end) else end
    return found
