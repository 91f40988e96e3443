"""The dashboard: panels that say what they show, in rows of questions, on whatever Prometheus is chosen."""

import re
from itertools import pairwise
from typing import Any

import pytest

from tests.deploy.files import VARIABLES, dashboard, panels

BOARD = dashboard()
PANELS = panels()
PROMETHEUS = {"type": "prometheus", "uid": "${datasource}"}

each_panel = pytest.mark.parametrize("panel", PANELS, ids=[panel["title"] for panel in PANELS])


def test_it_has_a_data_source_replicas_and_targets_to_choose() -> None:
    variables = {variable["name"]: variable for variable in BOARD["templating"]["list"]}
    assert list(variables) == ["datasource", "instance", "target"]
    assert (variables["datasource"]["type"], variables["datasource"]["query"]) == ("datasource", "prometheus")
    for name in ("instance", "target"):
        assert variables[name]["datasource"] == PROMETHEUS
        assert (variables[name]["multi"], variables[name]["allValue"]) == (True, ".*")
        assert variables[name]["query"] == {"query": variables[name]["definition"], "refId": name}
        assert variables[name]["definition"].endswith(f", {name})")


def test_its_rows_are_questions_and_each_has_panels() -> None:
    kinds = [panel["type"] for panel in BOARD["panels"]]
    assert kinds[0] == "row" and kinds[-1] != "row"
    assert all(pair != ("row", "row") for pair in pairwise(kinds))
    rows = [panel for panel in BOARD["panels"] if panel["type"] == "row"]
    assert len(rows) == 6
    assert all(row["title"].endswith("?") and not row["collapsed"] for row in rows)


def test_every_id_is_of_one_panel() -> None:
    ids = [panel["id"] for panel in BOARD["panels"]]
    assert len(set(ids)) == len(ids)


def test_no_panel_covers_another_and_none_leaves_the_grid() -> None:
    taken: set[tuple[int, int]] = set()
    for panel in BOARD["panels"]:
        at = panel["gridPos"]
        assert at["x"] + at["w"] <= 24
        cells = {(at["x"] + x, at["y"] + y) for x in range(at["w"]) for y in range(at["h"])}
        assert not cells & taken, panel["title"]
        taken |= cells


@each_panel
def test_a_panel_says_what_it_shows_in_which_unit_and_asks_the_chosen_prometheus(
    panel: dict[str, Any],
) -> None:
    assert panel["title"]
    assert panel["description"].endswith(".")
    assert panel["fieldConfig"]["defaults"]["unit"]
    assert panel["datasource"] == PROMETHEUS
    assert all(target["datasource"] == PROMETHEUS for target in panel["targets"])
    names = [target["refId"] for target in panel["targets"]]
    assert len(set(names)) == len(names)


@each_panel
def test_every_query_keeps_to_the_chosen_replicas_and_tells_its_lines_apart(panel: dict[str, Any]) -> None:
    legends = [target["legendFormat"] for target in panel["targets"]]
    assert all(legends) and len(set(legends)) == len(legends)
    for target in panel["targets"]:
        query, legend = target["expr"], target["legendFormat"]
        assert 'instance=~"$instance"' in query
        assert set(re.findall(r"\$(\w+)", query)) <= VARIABLES.keys()
        shown = set(re.findall(r"{{(\w+)}}", legend))
        kept = [{label.strip() for label in by.split(",")} for by in re.findall(r"\bby \(([^)]*)\)", query)]
        if kept:
            assert shown == kept[0] - {"le"}
        elif re.match(r"(histogram_quantile\(.*)?sum\(", query):
            assert shown == set()
        else:
            assert shown == {"instance"}


def test_targets_that_are_not_chosen_are_in_no_panel_about_targets() -> None:
    for panel in PANELS:
        for target in panel["targets"]:
            if "{{target}}" in target["legendFormat"]:
                assert 'target=~"$target' in target["expr"], panel["title"]
