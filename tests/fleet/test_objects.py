"""A listed object's text and its place."""

import json

import pytest

from foyer.fleet import objects
from foyer.fleet.position import MAX_NAME, Position

METADATA = {"name": "one", "namespace": "team", "creationTimestamp": "2026-01-01T00:00:00Z"}


def text(metadata: object = METADATA, **changes: object) -> bytes:
    document = {"kind": "Note", "apiVersion": "v1", "metadata": metadata, **changes}
    return json.dumps(document, separators=(",", ":")).encode()


def test_an_object_stands_by_age_target_namespace_and_name_and_keeps_its_text() -> None:
    entry = objects.read(text(spec={"a": "ü"}), "eu")
    assert entry is not None
    assert entry.position == Position("2026-01-01T00:00:00", "eu", "team", "one")
    assert entry.text == text(spec={"a": "ü"})


def test_without_a_namespace_or_a_time_it_stands_before_the_others() -> None:
    for created in ({}, {"creationTimestamp": None}, {"creationTimestamp": 7}):
        entry = objects.read(text({"name": "one", **created}), "eu")
        assert entry is not None
        assert entry.position == Position("", "eu", "", "one")


@pytest.mark.parametrize(
    "item",
    [
        b"7",
        b"null",
        b'"{"',
        b"[]",
        b"{}",
        text(None),
        text("metadata"),
        text({}),
        text({"name": ""}),
        text({"name": 7}),
        text({"name": "x" * (MAX_NAME + 1)}),
        text({"name": "one", "namespace": "x" * (MAX_NAME + 1)}),
        text({"name": "\ud800"}),
        text(kind=""),
        text(kind=None),
        text(apiVersion=""),
        text(kind="PartialObjectMetadata", apiVersion="meta.k8s.io/v1"),
    ],
)
def test_what_is_no_object_with_a_kind_a_version_and_a_name_is_none(item: bytes) -> None:
    assert objects.read(item, "eu") is None


def test_an_entry_that_is_shown_hides_its_object() -> None:
    entry = objects.read(text(data={"password": "secret"}), "eu")
    assert "secret" not in repr(entry)
