"""A grammar of near-misses for the differential: requests in which mostly one thing is odd, by a seed.

It is written on the tricks' own pieces, put together otherwise and with odd octets where there were none.
"""

from collections.abc import Iterator
from dataclasses import replace
from random import Random

from tests.smuggling.tricks import (
    CHUNKED,
    CHUNKS,
    CODINGS,
    FIELDS,
    GLUED,
    HIDDEN,
    HOSTS,
    IN_A_CHUNK,
    LENGTH,
    LENGTHS,
    LINES,
    PREFIX,
    Trick,
)

ODD = [
    b"\r",
    b"\n",
    b"\r\n",
    b"\0",
    b" ",
    b"\t",
    b"\x0b",
    b"\x0c",
    b"\x7f",
    b"\x85",
    b"\xa0",
    b"\xff",
    b":",
    b";",
]
ODD += [b",", b"_", b"#", b"?", b"%", b"/", b'"', b"0", b"\r\n ", b"\r\n\t", b"\n\n", b"\r\r\n", b"\r\n\r\n"]
"""What readers differ about."""

_FRAMED = [
    (LENGTH, b"{}"),
    (LENGTH, HIDDEN),
    (LENGTH, b"0\r\n\r\n" + PREFIX),
    (LENGTH, IN_A_CHUNK),
    (CHUNKED, CHUNKS["honest"]),
    (CHUNKED, IN_A_CHUNK),
    (CHUNKED, CHUNKS["a trailer"]),
    (b"", b""),
]
"""Framing fields and content that belong to each other."""


def requests(seed: int) -> Iterator[Trick]:
    """As many as are asked for: the same ones for the same seed."""
    source = Random(seed)
    while True:
        yield _request(source)


def _request(source: Random) -> Trick:
    """Right in all but a few places: none, one or two."""
    fields, content = source.choice(_FRAMED)
    trick = Trick(fields, content, behind=source.choice([GLUED, GLUED, GLUED, HIDDEN + GLUED, PREFIX]))
    for change in source.choices(_CHANGES, k=source.choice([0, 1, 1, 1, 2])):
        trick = change(source, trick)
    return trick


def _another_framing(source: Random, trick: Trick) -> Trick:
    return replace(trick, fields=source.choice([*CODINGS.values(), *LENGTHS.values()]))


def _more_framing(source: Random, trick: Trick) -> Trick:
    more = source.choice([*CODINGS.values(), *LENGTHS.values()])
    return replace(trick, fields=source.choice([trick.fields + more, more + trick.fields]))


def _another_field(source: Random, trick: Trick) -> Trick:
    more = source.choice(list(FIELDS.values()))
    return replace(trick, fields=source.choice([trick.fields + more, more + trick.fields]))


def _other_chunks(source: Random, trick: Trick) -> Trick:
    return replace(trick, fields=CHUNKED, content=source.choice(list(CHUNKS.values())))


def _more_chunks(source: Random, trick: Trick) -> Trick:
    chunks = CHUNKS["honest"].removesuffix(b"0\r\n\r\n")
    return replace(trick, fields=CHUNKED, content=chunks + source.choice(list(CHUNKS.values())))


def _another_line(source: Random, trick: Trick) -> Trick:
    return replace(trick, line=source.choice(list(LINES.values())))


def _another_host(source: Random, trick: Trick) -> Trick:
    return replace(trick, host=source.choice(list(HOSTS.values())))


def _another_end(source: Random, trick: Trick) -> Trick:
    return replace(trick, end=source.choice(ODD))


def _between(source: Random, trick: Trick) -> Trick:
    return replace(trick, behind=source.choice(ODD) + trick.behind)


def _odd_octets(source: Random, trick: Trick) -> Trick:
    """Some odd octets somewhere, or one octet missing, but not in who it is from."""
    part = source.choice(["fields", "content", "line", "host"])
    text: bytes = getattr(trick, part)
    at = source.randrange(len(text) + 1)
    if text.rfind(b"<", 0, at) > text.rfind(b">", 0, at):  # within a placeholder
        at = text.rfind(b"<", 0, at)
    missing = source.random() < 0.2 and text[at : at + 1] not in (b"<", b"")
    odd = b"" if missing else source.choice(ODD)
    return replace(trick, **{part: text[:at] + odd + text[at + missing :]})


_CHANGES = [
    _another_framing,
    _more_framing,
    _another_field,
    _another_field,
    _other_chunks,
    _more_chunks,
    _another_line,
    _another_host,
    _another_end,
    _between,
    *[_odd_octets] * 6,
]
