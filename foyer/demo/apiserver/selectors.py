"""Label and field selectors (meta/v1: labels.Parse, fields.ParseSelector).

A selector is a list of requirements that must all hold. Parsing follows Kubernetes' grammar
and words its errors likewise; matching treats an absent label as `!=` and `notin` do there:
as different.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from foyer.demo.apiserver.document import Object
from foyer.demo.apiserver.names import label_key_faults, label_value_faults
from foyer.demo.apiserver.status import Refused, bad_request


class Operator(Enum):
    """What a requirement says about a label's value."""

    IN = "in"
    NOT_IN = "notin"
    EXISTS = "exists"
    ABSENT = "!"
    GREATER = "gt"
    LESS = "lt"


@dataclass(frozen=True, slots=True)
class Requirement:
    """One condition on one label."""

    key: str
    operator: Operator
    values: frozenset[str] = frozenset()

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Whether an object's labels fulfil it."""
        value = labels.get(self.key)
        match self.operator:
            case Operator.IN:
                return value in self.values
            case Operator.NOT_IN:
                return value not in self.values
            case Operator.EXISTS:
                return value is not None
            case Operator.ABSENT:
                return value is None
            case Operator.GREATER | Operator.LESS:
                return self._compares(value)

    def _compares(self, value: str | None) -> bool:
        if value is None or not _INTEGER.fullmatch(value):
            return False
        (bound,) = self.values
        greater = self.operator is Operator.GREATER
        return int(value) > int(bound) if greater else int(value) < int(bound)


_INTEGER = re.compile(r"[+-]?[0-9]{1,18}")  # fits the 64 bits that Go parses
_TOKEN = re.compile(r"\s*(==|!=|[=,()<>!]|[^\s=,()<>!]+)")
_SYMBOLS = frozenset(("==", "!=", "=", ",", "(", ")", "<", ">", "!"))
_END = ""


def parse_labels(text: str) -> tuple[Requirement, ...]:
    """The requirements of a `labelSelector`. Raises `Refused` (400)."""
    return _LabelParser(text).parse()


class _LabelParser:
    """A recursive descent over the selector's tokens; the empty token is the end."""

    def __init__(self, text: str) -> None:
        self._tokens: list[str] = [*_TOKEN.findall(text), _END]
        self._at = 0

    def parse(self) -> tuple[Requirement, ...]:
        """Every requirement, to the end of the text. Raises a 400 that says what was found there."""
        requirements: list[Requirement] = []
        if self._peek() == _END:
            return ()
        if self._peek() != "!" and self._is_symbol():
            raise bad_request(f"found '{self._peek()}', expected: !, identifier, or 'end of string'")
        while True:
            requirements.append(self._requirement())
            separator = self._next()
            if separator == _END:
                return tuple(requirements)
            if separator != ",":
                raise bad_request(f"found '{separator}', expected: ',' or 'end of string'")
            if self._peek() != "!" and (self._is_symbol() or self._peek() == _END):
                raise bad_request(f"found '{self._peek()}', expected: identifier after ','")

    def _peek(self) -> str:
        return self._tokens[self._at]

    def _is_symbol(self) -> bool:
        return self._peek() in _SYMBOLS

    def _next(self) -> str:
        token = self._tokens[self._at]
        if token != _END:
            self._at += 1
        return token

    def _requirement(self) -> Requirement:
        absent = self._peek() == "!"
        if absent:
            self._next()
        key = self._next()
        if key in _SYMBOLS or key == _END:
            raise _unparsable(f"found '{key}', expected: identifier")
        _refuse_faults("key", key, label_key_faults(key))
        if absent:
            return Requirement(key, Operator.ABSENT)
        if self._peek() in (_END, ","):
            return Requirement(key, Operator.EXISTS)
        return self._comparison(key, self._next())

    def _comparison(self, key: str, word: str) -> Requirement:
        match word:
            case "=" | "==":
                return Requirement(key, Operator.IN, frozenset((self._value(),)))
            case "!=":
                return Requirement(key, Operator.NOT_IN, frozenset((self._value(),)))
            case "in":
                return Requirement(key, Operator.IN, self._values())
            case "notin":
                return Requirement(key, Operator.NOT_IN, self._values())
            case ">" | "gt":
                return Requirement(key, Operator.GREATER, frozenset((self._integer(),)))
            case "<" | "lt":
                return Requirement(key, Operator.LESS, frozenset((self._integer(),)))
            case _:
                raise _unparsable(f"found '{word}', expected: in, notin, =, ==, !=, gt, lt")

    def _value(self) -> str:
        # `key=` before a comma or at the end asks for the empty value.
        if self._peek() in (_END, ","):
            return ""
        if self._is_symbol():
            raise _unparsable(f"found '{self._peek()}', expected: identifier")
        return _valid_value(self._next())

    def _integer(self) -> str:
        value = self._value()
        if not _INTEGER.fullmatch(value):
            why = "for 'Gt', 'Lt' operators, the value must be an integer"
            raise _unparsable(f'values[0]: Invalid value: "{value}": {why}')
        return value

    def _values(self) -> frozenset[str]:
        if (opening := self._next()) != "(":
            raise _unparsable(f"found '{opening}' expected: '('")
        values: set[str] = set()
        while True:
            # An empty place between commas, or before a parenthesis, is the empty value.
            values.add("" if self._peek() in (",", ")") else self._value())
            match self._next():
                case ",":
                    continue
                case ")":
                    return frozenset(values)
                case other:
                    raise _unparsable(f"found '{other}', expected: ',' or ')'")


def _unparsable(why: str) -> Refused:
    return bad_request(f"unable to parse requirement: {why}")


def _refuse_faults(field: str, value: str, faults: Sequence[str]) -> None:
    if faults:
        raise _unparsable(f'{field}: Invalid value: "{value}": {"; ".join(faults)}')


def _valid_value(value: str) -> str:
    _refuse_faults("values[0]", value, label_value_faults(value))
    return value


@dataclass(frozen=True, slots=True)
class FieldTerm:
    """One condition on one field: equal, or not."""

    field: str
    equal: bool
    value: str

    def matches(self, target: Object) -> bool:
        """Whether an object fulfils it; an absent field is the empty string."""
        found = target
        for part in self.field.split("."):
            found = found.get(part, {})
        return ((found or "") == self.value) is self.equal


_FIELD_TERM = re.compile(r"([^=!]*)(!=|==|=)(.*)", re.DOTALL)
_ESCAPED = re.compile(r"\\([\\,=])")


def parse_fields(
    text: str, unsupported: Callable[[str], Refused], selectable: Sequence[str]
) -> tuple[FieldTerm, ...]:
    """The terms of a `fieldSelector`. Raises `Refused` (400), by `unsupported` for a field not selectable."""
    terms: list[FieldTerm] = []
    for part in re.split(r"(?<!\\),", text):
        if not part:
            continue
        found = _FIELD_TERM.fullmatch(part)
        if found is None:
            raise bad_request(f"invalid selector: '{text}'; can't understand '{part}'")
        name, operator, value = found.groups()
        if name not in selectable:
            raise unsupported(name)
        terms.append(FieldTerm(name, operator != "!=", _ESCAPED.sub(r"\1", value)))
    return tuple(terms)
