"""The files under `deploy`, read."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[2]
PROMETHEUS = ROOT / "deploy" / "prometheus"
RULES = PROMETHEUS / "foyer.rules.yml"
RULE_TESTS = PROMETHEUS / "foyer.test.yml"
DASHBOARD = ROOT / "deploy" / "grafana" / "foyer.json"

VARIABLES = {"__rate_interval": "1m", "instance": ".*", "target": ".*"}
"""What Grafana puts for them: its own, and all of everything."""


@dataclass(frozen=True)
class Alert:
    """One rule."""

    name: str
    expr: str
    severity: str
    waits: bool
    """It fires only when its query has said so for a time."""
    annotations: dict[str, str]


def alerts() -> list[Alert]:
    """The rules, in their order."""
    return [
        Alert(rule["alert"], rule["expr"], rule["labels"]["severity"], "for" in rule, rule["annotations"])
        for group in yaml.safe_load(RULES.read_text())["groups"]
        for rule in group["rules"]
    ]


def dashboard() -> dict[str, Any]:
    """The dashboard, as Grafana imports it."""
    board = json.loads(DASHBOARD.read_text())
    assert isinstance(board, dict)
    return board


def panels() -> list[dict[str, Any]]:
    """Its panels without the rows."""
    return [panel for panel in dashboard()["panels"] if panel["type"] != "row"]


def panel_queries() -> Iterator[tuple[str, str]]:
    """Every query of every panel, beside the panel's title."""
    for panel in panels():
        for target in panel["targets"]:
            yield panel["title"], target["expr"]


def variable_queries() -> dict[str, str]:
    """The selector that each variable's values come from."""
    return {
        variable["name"]: variable["definition"].removeprefix("label_values(").rpartition(",")[0]
        for variable in dashboard()["templating"]["list"]
        if variable["type"] == "query"
    }
