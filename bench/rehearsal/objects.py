"""The one object that everybody watches, and the events of it, as kube-apiserver writes them."""

import json

from bench.messages import audit_ids

PATH = "/api/v1/namespaces/demo/configmaps"
NAME = "rehearsal"

INITIAL_END = "initial-events-end"
"""In the bookmark that ends a watch's initial events (KEP-3157)."""

WATCH = "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
ONLY_IT = f"fieldSelector=metadata.name%3D{NAME}"

MARK = "rehearsal.example.test/mark"
"""The annotation that is different after each change."""

_TEXT = "The quick brown fox jumps over the lazy dog and writes a note about it. " * 6
_TIMES = {"creationTimestamp": "2026-01-01T00:00:00Z"}


def small_object(mark: str, version: int = 1001) -> dict[str, object]:
    """A ConfigMap of 1 KiB; a quarter of it is what the API server keeps of managed fields."""
    metadata = {
        "name": NAME,
        "namespace": "demo",
        "uid": "7d2f1c60-3d0b-4c86-9a4e-5b1a9f3f6c11",
        "resourceVersion": str(version),
        **_TIMES,
        "labels": {"app": "rehearsal", "tier": "bench"},
        "annotations": {MARK: mark},
        "managedFields": [
            {
                "manager": "rehearsal",
                "operation": "Update",
                "apiVersion": "v1",
                "time": _TIMES["creationTimestamp"],
                "fieldsType": "FieldsV1",
                "fieldsV1": {
                    "f:data": {".": {}, "f:text": {}},
                    "f:metadata": {"f:annotations": {".": {}, f"f:{MARK}": {}}, "f:labels": {"f:app": {}}},
                },
            }
        ],
    }
    return {"kind": "ConfigMap", "apiVersion": "v1", "metadata": metadata, "data": {"text": _TEXT}}


def event(kind: str, thing: dict[str, object]) -> bytes:
    """A line of a watch."""
    return json.dumps({"type": kind, "object": thing}, separators=(",", ":")).encode() + b"\n"


def bookmark(version: int) -> bytes:
    """What ends the initial events."""
    metadata = {
        "resourceVersion": str(version),
        "creationTimestamp": None,
        "annotations": {f"k8s.io/{INITIAL_END}": "true"},
    }
    return event("BOOKMARK", {"kind": "ConfigMap", "apiVersion": "v1", "metadata": metadata})


def listed(thing: dict[str, object], version: int) -> bytes:
    """The list of one."""
    metadata = {"resourceVersion": str(version)}
    answer = {"kind": "ConfigMapList", "apiVersion": "v1", "metadata": metadata, "items": [thing]}
    return json.dumps(answer, separators=(",", ":")).encode()


def watch_fields() -> list[tuple[bytes, bytes]]:
    """What kube-apiserver sends before a watch's events, beside the status."""
    return [
        (b"audit-id", audit_ids(1)[0]),
        (b"cache-control", b"no-cache, private"),
        (b"content-type", b"application/json"),
        (b"x-kubernetes-pf-flowschema-uid", b"5f1b7f2e-7e55-4f5e-9a4c-0d5b0a7f3a11"),
        (b"x-kubernetes-pf-prioritylevel-uid", b"0c1e7a64-9f0e-4c3e-8a58-7b8b0a4f3b22"),
        (b"date", b"Mon, 30 Nov 2026 02:00:00 GMT"),
    ]
