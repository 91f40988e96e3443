"""Every series, label and value that a rule or a panel names is one that foyer serves, and all are used."""

import re
from collections import defaultdict
from itertools import chain

import pytest
from prometheus_client.parser import text_string_to_metric_families as parse

from foyer.measures import Measures
from foyer.metrics.exposition import PLAIN, Exposition
from tests.deploy.files import ROOT, VARIABLES, alerts, panel_queries, variable_queries
from tests.deploy.promql import alternatives, filled_in, named

GOLDEN = (ROOT / "tests" / "metrics" / "golden.prom").read_text()
PROCESS = Exposition(Measures()).render(PLAIN).decode()

SCRAPE = {"job", "instance"}
"""Labels that Prometheus adds, to these and to its own `up`."""

NAMES_OF_THE_CONFIGURATION = {"instance", "job", "target"}
"""Labels with any value."""


def exposed() -> dict[str, dict[str, set[str]]]:
    """By series, its labels with their values. The golden scrape has one of each."""
    found: dict[str, dict[str, set[str]]] = {"up": {}}
    for family in chain(parse(PROCESS), parse(GOLDEN)):
        for sample in family.samples:
            values = found.setdefault(sample.name, defaultdict(set))
            for label, value in sample.labels.items():
                values[label].add(value)
    return found


EXPOSED = exposed()
RULES = {alert.name: alert.expr for alert in alerts()}
PANELS = [(title, filled_in(query, VARIABLES)) for title, query in panel_queries()]
CHOICES = [(name, filled_in(query, VARIABLES)) for name, query in variable_queries().items()]
QUERIES = [*RULES.items(), *PANELS, *CHOICES]

each_query = pytest.mark.parametrize(
    "query", [query for _, query in QUERIES], ids=[name for name, _ in QUERIES]
)


@each_query
def test_every_series_is_served(query: str) -> None:
    found = named(query)
    assert found.series
    assert found.series <= EXPOSED.keys()


@each_query
def test_every_label_is_one_of_the_series_and_every_value_one_that_it_has(query: str) -> None:
    found = named(query)
    known = SCRAPE.union(*(EXPOSED[series] for series in found.series))
    assert found.labels <= known
    for series, label, value in found.matchers:
        assert label in SCRAPE | EXPOSED[series].keys(), (series, label)
        if label not in NAMES_OF_THE_CONFIGURATION:
            assert set(alternatives(value)) <= EXPOSED[series][label], (series, label)


def test_every_series_of_foyers_is_in_a_rule_or_a_panel() -> None:
    used = set().union(*(named(query).series for query in (*RULES.values(), *(query for _, query in PANELS))))
    families = {family.name: {sample.name for sample in family.samples} for family in parse(GOLDEN)}
    assert {name for name, samples in families.items() if not samples & used} == set()


def test_every_bound_that_refuses_is_in_a_rule_and_so_is_every_limit_of_overload_and_gate() -> None:
    watched = defaultdict[tuple[str, str], set[str]](set)
    for query in RULES.values():
        for series, label, value in named(query).matchers:
            watched[series, label] |= set(alternatives(value))
    # Rates are counted under their bursts; responses that last are ordinary.
    uncounted = {"session_request_rate", "auth_request_rate", "response_duration"}
    reached = "krm_foyer_bound_reached_total"
    assert watched[reached, "bound"] == EXPOSED[reached]["bound"] - uncounted
    for series, label in (
        ("krm_foyer_overload_refusals_total", "limit"),
        ("krm_foyer_admission_refusals_total", "gate"),
    ):
        assert watched[series, label] == EXPOSED[series][label]


def test_a_name_that_is_not_there_is_noticed() -> None:
    query = 'sum by (reasn) (rate(krm_foyer_interuptions_total{cause="x"}[5m])) / on () up > 0 and foo'
    found = named(query)
    assert found.series == {"krm_foyer_interuptions_total", "up", "foo"}
    assert found.labels == {"reasn"}
    assert found.matchers == [("krm_foyer_interuptions_total", "cause", "x")]


def test_no_query_names_a_job() -> None:
    """Whoever scrapes foyer calls that as they like."""
    for name, query in QUERIES:
        assert not re.search(r"\bjob *[=!]", query), name
