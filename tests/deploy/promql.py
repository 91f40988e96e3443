"""What a query of the rules or of the dashboard names: series with their matchers, and labels.

No parser of PromQL, which `promtool` has: only as much as tells a misspelt name from a right one.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

_STRING = re.compile(r'"[^"]*"')
_LABELS = re.compile(r"\b(?:by|without|on|ignoring|group_left|group_right) *\(([^)]*)\)")
_SELECTOR = re.compile(r"([a-zA-Z_]\w*)\s*\{([^}]*)\}")
_MATCHER = re.compile(r'([a-zA-Z_]\w*)\s*(?:=~|!~|!=|=)\s*"([^"]*)"')
_SERIES = re.compile(r"[a-zA-Z_]\w*(?!\w)(?!\s*\()")
_KEYWORDS = {"and", "or", "unless", "bool"}


@dataclass
class Named:
    """What one query names."""

    series: set[str] = field(default_factory=set)
    matchers: list[tuple[str, str, str]] = field(default_factory=list)
    """Series, label, and what its value is compared with."""
    labels: set[str] = field(default_factory=set)
    """Those that it groups or matches by."""


def named(query: str) -> Named:
    """Reads one query."""
    found = Named()
    for series, matchers in _SELECTOR.findall(query):
        found.series.add(series)
        pairs = _MATCHER.findall(matchers)
        assert not _MATCHER.sub("", matchers).strip(" ,\n"), matchers
        found.matchers += [(series, label, value) for label, value in pairs]
    rest = _SELECTOR.sub(" ", query)
    for labels in _LABELS.findall(rest):
        found.labels |= {label.strip() for label in labels.split(",") if label.strip()}
    rest = re.sub(r"\[[^]]*\]", " ", _STRING.sub(" ", _LABELS.sub(" ", rest)))
    found.series |= set(_SERIES.findall(rest)) - _KEYWORDS
    return found


def alternatives(value: str) -> Iterator[str]:
    """The words that a matcher's value stands for: `a|b`."""
    return (word for word in value.split("|") if word)


def without_thresholds(query: str) -> str:
    """The same query, where a comparison with a number says 0 or 1 instead of dropping what is not so."""
    return re.sub(r"(?<= )(==|>=|<=|>|<) (?=[\d.]+\b)", r"\1 bool ", query)


def filled_in(query: str, values: Mapping[str, str]) -> str:
    """The query with the dashboard's variables replaced, as Grafana does before it asks."""
    for name, value in values.items():
        query = query.replace(f"${name}", value)
    assert "$" not in query, query
    return query
