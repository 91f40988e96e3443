"""The twin of `foyer.streams.projection`: over decoded objects, from the spec's table."""

from typing import Any

LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


def projected(value: dict[str, Any], projection: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """`value` as it is shown, and what is withheld of it by path."""
    shown = dict(value)
    shown["metadata"] = {name: part for name, part in value["metadata"].items() if name != "managedFields"}
    annotations = shown["metadata"].get("annotations")
    if isinstance(annotations, dict) and LAST_APPLIED in annotations:
        kept = {name: part for name, part in annotations.items() if name != LAST_APPLIED}
        shown["metadata"]["annotations"] = kept
        if not kept:
            del shown["metadata"]["annotations"]
    withheld: dict[str, Any] = {}
    if projection != "krm-raw/v1" and (value["kind"], value["apiVersion"]) == ("Secret", "v1"):
        for field in ("data", "stringData"):
            values = shown.get(field)
            if values is None or values == {}:
                continue
            del shown[field]
            if not isinstance(values, dict):
                withheld[f"/{field}"] = values
                continue
            for key, each in values.items():
                withheld[f"/{field}/" + key.replace("~", "~0").replace("/", "~1")] = each
    if projection == "krm-spec/v1":
        shown.pop("status", None)
    return shown, dict(sorted(withheld.items()))
