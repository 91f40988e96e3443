"""The alert rules: each has a severity, says what to do, leads to its section, and is tested by promtool."""

import re
from typing import Any

import pytest
import yaml

from foyer.config.flags import FLAGS
from tests.deploy.files import ROOT, RULE_TESTS, RULES, Alert, alerts
from tests.deploy.promql import without_thresholds
from tests.test_documents import anchors

ALERTS = alerts()
DOCUMENT = ROOT / "docs" / "alerts.md"
OPERATING = (ROOT / "docs" / "operating.md").read_text()
TESTS: list[dict[str, Any]] = yaml.safe_load(RULE_TESTS.read_text())["tests"]

each_alert = pytest.mark.parametrize("alert", ALERTS, ids=[alert.name for alert in ALERTS])


def fired(test: dict[str, Any]) -> list[dict[str, str]]:
    """The labels of every alert that a test expects."""
    return [
        dict(re.findall(r'(\w+)="([^"]*)"', sample["labels"]))
        for query in test["promql_expr_test"]
        for sample in query["exp_samples"]
    ]


def of(alert: Alert) -> list[dict[str, Any]]:
    """The tests that are named for it."""
    return [test for test in TESTS if test["name"].split(",")[0] == alert.name]


def test_refusals_for_concurrency_page_and_the_other_two_limits_open_a_ticket() -> None:
    severity = {
        limit: alert.severity for alert in ALERTS for limit in re.findall(r'limit="([\w-]+)"', alert.expr)
    }
    assert severity == {"concurrency": "page", "caller-rate": "ticket", "target-in-flight": "ticket"}


def test_no_name_is_given_twice() -> None:
    names = [alert.name for alert in ALERTS]
    assert len(set(names)) == len(names)
    assert all(re.fullmatch(r"Foyer[A-Z]\w+", name) for name in names)


@each_alert
def test_an_alert_has_a_severity_and_says_what_happened_and_what_to_do(alert: Alert) -> None:
    assert alert.severity in ("page", "ticket")
    assert alert.annotations.keys() == {"summary", "description", "runbook_url"}
    assert len(alert.annotations["summary"]) < 140
    assert "\n" not in alert.annotations["summary"]
    assert len(alert.annotations["description"]) > 80


@each_alert
def test_its_runbook_is_its_section_of_the_document(alert: Alert) -> None:
    path, _, anchor = alert.annotations["runbook_url"].partition("#")
    assert (ROOT / path, anchor) == (DOCUMENT, alert.name.lower())
    assert anchor in anchors(DOCUMENT)


def test_the_document_has_every_alert_in_the_order_of_the_rules_with_its_severity() -> None:
    sections = re.findall(r"^### (\w+)\n\n\*(\w+)\.\*", DOCUMENT.read_text(), re.MULTILINE)
    assert sections == [(alert.name, alert.severity.capitalize()) for alert in ALERTS]


def test_flags_and_log_lines_that_are_named_are_there() -> None:
    told = [alert.annotations["description"] for alert in ALERTS]
    flags = {flag.name for flag in FLAGS}
    named = re.findall(r"(?:^|[\s(`])-([a-z][a-z-]+)", " ".join([*told, DOCUMENT.read_text()]))
    assert set(named) <= flags | {"n"}
    for text in told:
        for line in re.findall(r'"([a-z ]+)"', text):
            assert f"| `{line}`" in OPERATING, line


@each_alert
def test_there_is_something_that_fires_it_and_something_near_that_does_not(alert: Alert) -> None:
    by_test = [([labels["alertname"] for labels in fired(test)], test) for test in of(alert)]
    firing = [test for names, test in by_test if alert.name in names]
    assert firing
    apart = [test for names, test in by_test if alert.name not in names]
    quiet = [
        test
        for test in firing
        if any('instance="quiet"' in series["series"] for series in test["input_series"])
        and all(labels.get("instance") != "quiet" for labels in fired(test))
    ]
    assert quiet or apart


@each_alert
def test_a_rule_that_waits_is_asked_about_before_it_has_waited(alert: Alert) -> None:
    [test] = [test for test in of(alert) if any(labels["alertname"] == alert.name for labels in fired(test))]
    expected = [bool(query["exp_samples"]) for query in test["promql_expr_test"]]
    assert expected == ([False, True] if alert.waits else [True])


@each_alert
def test_what_its_texts_take_from_labels_is_there(alert: Alert) -> None:
    """promtool's file has the labels that an alert keeps, and promtool compares them."""
    [labels] = [
        labels for test in of(alert) for labels in fired(test)[:1] if labels["alertname"] == alert.name
    ][:1]
    texts = " ".join(alert.annotations.values())
    assert set(re.findall(r"\$labels\.(\w+)", texts)) <= labels.keys()
    assert not re.search(r"{{(?! \$(labels\.\w+|value)( \| humanize(Percentage|Duration)?)? }})", texts)


def test_every_test_asks_for_all_that_fires_and_knows_severities() -> None:
    severity = {alert.name: alert.severity for alert in ALERTS}
    for test in TESTS:
        assert {query["expr"] for query in test["promql_expr_test"]} == {'ALERTS{alertstate="firing"}'}
        for labels in fired(test):
            assert labels["severity"] == severity[labels["alertname"]]


def test_the_rules_are_the_spec_of_a_prometheus_rule_as_they_stand() -> None:
    indented = "".join(f"  {line}\n" for line in RULES.read_text().splitlines())
    assert yaml.safe_load("spec:\n" + indented)["spec"] == yaml.safe_load(RULES.read_text())


@pytest.mark.parametrize(
    ("query", "shown"),
    [
        ('up == 0 and on (job) x{a=">0"}', 'up == bool 0 and on (job) x{a=">0"}'),
        ("(a > 0) / b >= 0.5", "(a > bool 0) / b >= bool 0.5"),
        ("a <= 1 and c[5m]", "a <= bool 1 and c[5m]"),
    ],
)
def test_a_query_without_its_threshold_has_all_that_it_compares(query: str, shown: str) -> None:
    assert without_thresholds(query) == shown
