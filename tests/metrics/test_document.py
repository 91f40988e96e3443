"""docs/metrics.md has every series with its type and labels, and every word of a bound and of a cause."""

import re
from pathlib import Path

from prometheus_client.parser import text_string_to_metric_families as parse

from foyer.bound import MEASURED, Bound
from foyer.exchange.endings import Cause

PAGE = (Path(__file__).parents[2] / "docs" / "metrics.md").read_text()
GOLDEN = Path(__file__).with_name("golden.prom").read_text()


def rows(heading: str) -> list[list[str]]:
    """The cells of a section's table, below its head."""
    section = re.split(r"^#+ ", PAGE.partition(f" {heading}\n")[2], maxsplit=1, flags=re.MULTILINE)[0]
    table = [line for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in table[2:]]


def words(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


def test_every_series_is_there_with_its_type_and_its_labels() -> None:
    golden = {
        metric.name + ("_total" if metric.type == "counter" else ""): (
            metric.type,
            {label for sample in metric.samples for label in sample.labels} - {"le"},
        )
        for metric in parse(GOLDEN)
    }
    assert {words(row[0])[0]: (row[1], set(words(row[2]))) for row in rows("The series")} == golden


def test_every_value_of_a_small_label_is_named_beside_its_series() -> None:
    told = {words(row[0])[0].removesuffix("_total"): set(words(row[3])) for row in rows("The series")}
    apart = {"bound", "cause", "reason", "target", "le"}
    for metric in parse(GOLDEN):
        values = {sample.labels[name] for sample in metric.samples for name in sample.labels.keys() - apart}
        assert values <= told[metric.name], metric.name


def test_every_bound_is_there_and_what_is_observed_of_it() -> None:
    table = {words(row[0])[0]: row[2] for row in rows("Bounds")}
    assert list(table) == [bound.value for bound in Bound]
    assert {word for word, observed in table.items() if not observed.startswith("nothing")} == {
        bound.value for bound in MEASURED
    }


def test_every_cause_is_there() -> None:
    assert [word for row in rows("Causes") for word in words(row[0])] == [cause.label for cause in Cause]


def test_every_bound_that_is_sized_is_a_bound() -> None:
    sized = {word for row in rows("Sizing a bound") for word in words(row[0])}
    assert sized <= {bound.value for bound in Bound}
