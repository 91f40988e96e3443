"""Label selectors, by Kubernetes' grammar (apimachinery, `labels.Parse`).

    selector      [requirement {"," requirement}]
    requirement   ["!"] key
                | key ("=" | "==" | "!=") [value]
                | key ("<" | ">") integer
                | key ("in" | "notin") "(" values ")"
    values        value {"," value}, where a value may be empty

Only read, to say what is wrong where somebody can still be told: it goes up as it was written, and the API
server is who selects.
"""

import re
from collections.abc import Iterator

from foyer.streams.names import is_subdomain

_WORD = re.compile(r"[ \t\r\n]*(==|!=|[=,()<>!]|[^ \t\r\n=,()<>!]+)")
_SYMBOLS = frozenset(("==", "!=", "=", ",", "(", ")", "<", ">", "!"))
_END = ""

_QUALIFIED = re.compile(r"(?:[A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]")
_MOST = 63
_INTEGER = re.compile(r"[0-9]+")  # a sign is no part of a label's value
_INT64 = 2**63


class Malformed(Exception):
    """Why a selector is none, as a sentence without its full stop."""


def fault(selector: str) -> str | None:
    """What is wrong with `selector`, as a sentence without its full stop; None when nothing is."""
    if "\0" in selector:
        return "a NUL ends a selector"  # for Kubernetes' lexer: it would drop what comes behind
    try:
        _read(_words(selector))
    except Malformed as malformed:
        return str(malformed)
    return None


def _words(selector: str) -> Iterator[str]:
    # Whitespace that no word follows would be tried from each of its characters.
    for found in _WORD.finditer(selector.rstrip(" \t\r\n")):
        yield found[1]
    while True:
        yield _END


def _read(words: Iterator[str]) -> None:
    word = next(words)
    if word == _END:
        return  # everything
    while True:
        after = _requirement(word, words)
        if after == _END:
            return
        if after != ",":
            raise Malformed(f"{_found(after)} where a comma or the end was expected")
        word = next(words)


def _requirement(word: str, words: Iterator[str]) -> str:
    """Reads one requirement, `word` its first; the word behind it."""
    absent = word == "!"
    key = next(words) if absent else word
    if key in _SYMBOLS or key == _END:
        raise Malformed(f"{_found(key)} where a label's key was expected")
    _check_key(key)
    operator = next(words)
    if absent or operator in (_END, ","):
        return operator
    match operator:
        case "=" | "==" | "!=":
            return _value(next(words), words)
        case "<" | ">":
            return _integer(next(words), words)
        case "in" | "notin":
            _values(words)
            return next(words)
        case _:
            raise Malformed(f"{_found(operator)} where one of = == != < > in notin was expected")


def _value(word: str, words: Iterator[str]) -> str:
    """Reads one value, which is the empty one where a comma or the end follows; the word behind it."""
    if word in (_END, ","):
        return word
    if word in _SYMBOLS:
        raise Malformed(f"{_found(word)} where a value was expected")
    _check_value(word)
    return next(words)


def _integer(word: str, words: Iterator[str]) -> str:
    after = _value(word, words)
    if not _INTEGER.fullmatch(word) or int(word) >= _INT64:  # of the length of a value at most
        raise Malformed(f"{_found(word)} where < and > need an integer")
    return after


def _values(words: Iterator[str]) -> None:
    if (opening := next(words)) != "(":
        raise Malformed(f"{_found(opening)} where a ( was expected")
    word = next(words)
    while True:
        if word not in (",", ")"):
            if word == _END or word in _SYMBOLS:
                raise Malformed(f"{_found(word)} where a value was expected")
            _check_value(word)
            word = next(words)
        if word == ")":
            return
        if word != ",":
            raise Malformed(f"{_found(word)} where a comma or a ) was expected")
        word = next(words)


def _check_key(key: str) -> None:
    prefix, slash, name = key.rpartition("/")
    if slash and not is_subdomain(prefix):
        raise Malformed(f"the prefix of the key {key} is no DNS subdomain")
    if len(name) > _MOST or not _QUALIFIED.fullmatch(name):
        raise Malformed(
            f"the key {key} is no label's: at most {_MOST} letters, digits, -, _ and ., "
            "letters or digits at both ends"
        )


def _check_value(value: str) -> None:
    if len(value) > _MOST or not _QUALIFIED.fullmatch(value):
        raise Malformed(
            f"the value {value} is no label's: at most {_MOST} letters, digits, -, _ and ., "
            "letters or digits at both ends"
        )


def _found(word: str) -> str:
    return "the end" if word == _END else word
