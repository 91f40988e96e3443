"""Creating, changing and deleting: what is stored, and what is answered instead."""

from typing import Any

import pytest

from tests.demo.fakes import CONFIG_MAPS, JSON_PATCH, MERGE_PATCH, NOTES, SECRETS, Cluster

NOTE = {"apiVersion": "example.com/v1", "kind": "Note", "metadata": {"name": "n"}, "spec": {"text": "t"}}

# Create.


def test_a_created_object_gets_what_only_the_system_decides(cluster: Cluster) -> None:
    claimed = {"uid": "mine", "generation": 9, "creationTimestamp": "2000-01-01T00:00:00Z", "name": "m"}
    reply = cluster.ask("POST", CONFIG_MAPS, {"metadata": claimed, "data": {"b": "2", "a": "1"}})
    metadata = reply.json["metadata"]
    assert reply.status == 201
    assert metadata == {
        "name": "m",
        "namespace": "demo",
        "uid": metadata["uid"],
        "resourceVersion": str(cluster.store.version),
        "creationTimestamp": "2027-01-15T08:00:00Z",
    }
    assert metadata["uid"] != "mine"
    assert list(reply.json) == ["kind", "apiVersion", "metadata", "data"]
    assert list(reply.json["data"]) == ["a", "b"]


def test_a_custom_object_has_its_defaults_a_generation_and_sorted_keys(cluster: Cluster) -> None:
    created = cluster.create(NOTES, NOTE | {"status": {"phase": "Done"}})
    assert created["metadata"]["generation"] == 1
    assert created["spec"] == {"done": False, "text": "t"}
    assert "status" not in created
    assert list(created["metadata"]) == sorted(created["metadata"])


def test_a_generated_name_is_the_prefix_and_five_characters(cluster: Cluster) -> None:
    created = cluster.create(CONFIG_MAPS, {"metadata": {"generateName": "gen-"}})
    name = created["metadata"]["name"]
    assert name.startswith("gen-") and len(name) == 9
    long = cluster.create(CONFIG_MAPS, {"metadata": {"generateName": "x" * 100}})
    assert len(long["metadata"]["name"]) == 63


def test_a_name_is_given_once(cluster: Cluster) -> None:
    cluster.config_map("m")
    reply = cluster.ask("POST", CONFIG_MAPS, {"metadata": {"name": "m"}})
    assert (reply.status, reply.json["reason"]) == (409, "AlreadyExists")
    assert reply.json["details"] == {"name": "m", "kind": "configmaps"}


def test_every_fault_of_an_object_is_told_at_once(cluster: Cluster) -> None:
    reply = cluster.ask("POST", NOTES, NOTE | {"spec": {"text": 5, "done": "no"}})
    assert (reply.status, reply.json["reason"]) == (422, "Invalid")
    assert reply.json["details"] == {
        "name": "n",
        "group": "example.com",
        "kind": "Note",
        "causes": [
            {
                "reason": "FieldValueTypeInvalid",
                "message": 'Invalid value: "integer": spec.text in body must be of type string: "integer"',
                "field": "spec.text",
            },
            {
                "reason": "FieldValueTypeInvalid",
                "message": 'Invalid value: "string": spec.done in body must be of type boolean: "string"',
                "field": "spec.done",
            },
        ],
    }
    assert reply.message.startswith('Note.example.com "n" is invalid: [spec.text: ')


INVALID: list[tuple[str, dict[str, Any], str, str]] = [
    (CONFIG_MAPS, {"metadata": {}}, "FieldValueRequired", "metadata.name"),
    (CONFIG_MAPS, {"metadata": {"name": "UPPER"}}, "FieldValueInvalid", "metadata.name"),
    (
        CONFIG_MAPS,
        {"metadata": {"name": "m", "labels": {"a b": "c"}}},
        "FieldValueInvalid",
        "metadata.labels",
    ),
    (
        CONFIG_MAPS,
        {"metadata": {"name": "m", "labels": {"a": "b c"}}},
        "FieldValueInvalid",
        "metadata.labels",
    ),
    (
        CONFIG_MAPS,
        {"metadata": {"name": "m", "annotations": {"a": "x" * 300_000}}},
        "FieldValueTooLong",
        "metadata.annotations",
    ),
    (
        CONFIG_MAPS,
        {"metadata": {"name": "m", "finalizers": ["bad"]}},
        "FieldValueInvalid",
        "metadata.finalizers[0]",
    ),
    (
        CONFIG_MAPS,
        {"metadata": {"name": "m", "ownerReferences": [{"kind": "A", "apiVersion": "v1", "name": "a"}]}},
        "FieldValueRequired",
        "metadata.ownerReferences[0].uid",
    ),
    (CONFIG_MAPS, {"metadata": {"name": "m"}, "data": {"a/b": "c"}}, "FieldValueInvalid", "data[a/b]"),
    (
        CONFIG_MAPS,
        {"metadata": {"name": "m"}, "data": {"a": "c"}, "binaryData": {"a": "AAAA"}},
        "FieldValueInvalid",
        "data[a]",
    ),
    (CONFIG_MAPS, {"metadata": {"name": "m"}, "data": {"a": "x" * 1_100_000}}, "FieldValueTooLong", "[]"),
    (NOTES, {k: v for k, v in NOTE.items() if k != "spec"}, "FieldValueRequired", "spec"),
    (NOTES, NOTE | {"spec": {}}, "FieldValueRequired", "spec.text"),
    (NOTES, NOTE | {"spec": {"text": ""}}, "FieldValueInvalid", "spec.text"),
    (NOTES, NOTE | {"spec": {"text": "x" * 5000}}, "FieldValueTooLong", "spec.text"),
    (NOTES, NOTE | {"spec": "x"}, "FieldValueTypeInvalid", "spec"),
    (NOTES, NOTE | {"kind": "Other"}, "FieldValueInvalid", "kind"),
]


@pytest.mark.parametrize(("path", "body", "reason", "field"), INVALID)
def test_what_is_invalid_is_422_with_its_field(
    cluster: Cluster, path: str, body: dict[str, Any], reason: str, field: str
) -> None:
    version = cluster.store.version
    reply = cluster.ask("POST", path, body)
    (cause,) = reply.json["details"]["causes"]
    assert (reply.status, cause["reason"], cause["field"]) == (422, reason, field)
    assert cluster.store.version == version


UNREADABLE: list[tuple[str, Any, str]] = [
    (CONFIG_MAPS, b"{", "json parse error"),
    (CONFIG_MAPS, b"\xff", "json parse error: invalid UTF-8"),
    (CONFIG_MAPS, b"[]", "cannot unmarshal array"),
    (CONFIG_MAPS, b'{"metadata":{"name":"m","generation":NaN}}', "json parse error"),
    (CONFIG_MAPS, b'{"metadata":{"name":"m","generation":1e999}}', "json parse error"),
    (CONFIG_MAPS, b"[" * 100_000, "max depth"),
    (
        CONFIG_MAPS,
        {"kind": "Secret", "apiVersion": "v1"},
        'Secret in version "v1" cannot be handled as a ConfigMap',
    ),
    (CONFIG_MAPS, {"kind": "ConfigMap", "apiVersion": "v2"}, "is registered for version"),
    (CONFIG_MAPS, {"metadata": {"name": "m"}, "data": {"a": 5}}, "ConfigMap.data.a"),
    (CONFIG_MAPS, {"metadata": {"name": "m", "labels": "x"}}, "ConfigMap.metadata.labels"),
    (CONFIG_MAPS, {"metadata": {"name": "m"}, "binaryData": {"a": "!"}}, "illegal base64 data"),
    (SECRETS, {"metadata": {"name": "m"}, "data": {"a": "!"}}, "illegal base64 data"),
    (CONFIG_MAPS, {"metadata": {"name": "m", "namespace": "other"}}, "does not match the namespace sent"),
    (NOTES, {"metadata": {"name": "n"}, "spec": {"text": "t"}}, "Object 'Kind' is missing"),
    (NOTES, NOTE | {"apiVersion": "v9"}, "does not match the expected API version (example.com/v1)"),
    (NOTES, NOTE | {"metadata": {"name": "n", "labels": 5}}, "ObjectMeta.labels"),
    (NOTES, NOTE | {"metadata": "x"}, "ObjectMeta"),
]


@pytest.mark.parametrize(("path", "body", "message"), UNREADABLE)
def test_what_is_no_object_of_its_kind_is_400(cluster: Cluster, path: str, body: Any, message: str) -> None:
    reply = cluster.ask("POST", path, body)
    assert (reply.status, reply.json["reason"]) == (400, "BadRequest")
    assert message in reply.message


def test_a_namespace_must_be_there(cluster: Cluster) -> None:
    reply = cluster.ask(
        "POST", "/api/v1/namespaces/nowhere/configmaps", {"metadata": {"name": "m"}}, as_="admin"
    )
    assert (reply.status, reply.message) == (404, 'namespaces "nowhere" not found')


def test_a_version_on_a_new_object_is_an_error_without_a_reason(cluster: Cluster) -> None:
    reply = cluster.ask("POST", CONFIG_MAPS, {"metadata": {"name": "m", "resourceVersion": "5"}})
    assert (reply.status, "reason" in reply.json) == (500, False)


def test_unknown_fields_are_dropped_with_a_warning_or_refused_or_ignored(cluster: Cluster) -> None:
    body = NOTE | {"spec": {"text": "t", "colour": "red"}}
    warned = cluster.ask("POST", f"{NOTES}?dryRun=All", body)
    assert warned.fields["warning"] == '299 - "unknown field \\"spec.colour\\""'
    assert "colour" not in warned.json["spec"]
    strict = cluster.ask("POST", f"{NOTES}?dryRun=All&fieldValidation=Strict", body)
    assert strict.status == 400
    assert 'strict decoding error: unknown field "spec.colour"' in strict.message
    assert "warning" not in cluster.ask("POST", f"{NOTES}?dryRun=All&fieldValidation=Ignore", body).fields


def test_a_warning_cannot_break_out_of_its_field(cluster: Cluster) -> None:
    body = NOTE | {'a\r\nb: \u2028\\"': 1}
    assert cluster.ask("POST", NOTES, body).fields["warning"] == '299 - "unknown field \\"a??b: ?\\\\\\"\\""'


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
def test_a_dry_run_answers_and_changes_nothing(cluster: Cluster, method: str) -> None:
    cluster.config_map("m", k="1")
    version = cluster.store.version
    path = f"{CONFIG_MAPS}?dryRun=All" if method == "POST" else f"{CONFIG_MAPS}/m?dryRun=All"
    name = "new" if method == "POST" else "m"
    kind = MERGE_PATCH if method == "PATCH" else "application/json"
    reply = cluster.ask(method, path, {"metadata": {"name": name}, "data": {"k": "2"}}, kind=kind)
    assert reply.status in (200, 201)
    assert cluster.store.version == version
    assert cluster.ask("GET", f"{CONFIG_MAPS}/m").json["data"] == {"k": "1"}


def test_an_unknown_dry_run_is_refused(cluster: Cluster) -> None:
    reply = cluster.ask("POST", f"{CONFIG_MAPS}?dryRun=Some", {"metadata": {"name": "m"}})
    assert reply.status == 422
    assert reply.message.endswith('dryRun: Unsupported value: ["Some"]: supported values: "All"')


# Update.


def test_an_update_from_an_older_version_is_a_conflict(cluster: Cluster) -> None:
    old = cluster.config_map("m", k="1")
    cluster.merge(f"{CONFIG_MAPS}/m", {"data": {"k": "2"}})
    reply = cluster.ask("PUT", f"{CONFIG_MAPS}/m", old | {"data": {"k": "3"}})
    assert (reply.status, reply.json["reason"]) == (409, "Conflict")
    assert reply.message == (
        'Operation cannot be fulfilled on configmaps "m": the object has been modified; '
        "please apply your changes to the latest version and try again"
    )
    assert reply.json["details"] == {"name": "m", "kind": "configmaps"}


def test_an_update_from_the_newest_version_replaces_everything_but_what_the_system_decides(
    cluster: Cluster,
) -> None:
    old = cluster.config_map("m", labels={"a": "b"}, k="1")
    head = {"name": "m", "resourceVersion": old["metadata"]["resourceVersion"]}
    new = cluster.ask("PUT", f"{CONFIG_MAPS}/m", {"metadata": head, "data": {"z": "1"}}).json
    assert new["data"] == {"z": "1"}
    assert "labels" not in new["metadata"]
    assert [new["metadata"][field] for field in ("uid", "creationTimestamp")] == [
        old["metadata"][field] for field in ("uid", "creationTimestamp")
    ]
    assert int(new["metadata"]["resourceVersion"]) == cluster.store.version


def test_only_a_built_in_kind_may_be_updated_without_a_version(cluster: Cluster) -> None:
    cluster.config_map("m")
    cluster.note("n")
    assert (
        cluster.ask("PUT", f"{CONFIG_MAPS}/m", {"metadata": {"name": "m"}, "data": {"a": "b"}}).status == 200
    )
    reply = cluster.ask("PUT", f"{NOTES}/n", NOTE)
    assert (reply.status, reply.json["details"]["causes"][0]["field"]) == (422, "metadata.resourceVersion")
    assert "must be specified for an update" in reply.message


def test_an_update_that_changes_nothing_is_no_new_version_and_no_event(cluster: Cluster) -> None:
    cluster.config_map("m", k="1")
    watch = cluster.watch(f"{CONFIG_MAPS}?watch=1&resourceVersion={cluster.store.version}")
    version = cluster.store.version
    cluster.ask("PUT", f"{CONFIG_MAPS}/m", {"metadata": {"name": "m"}, "data": {"k": "1"}})
    cluster.merge(f"{CONFIG_MAPS}/m", {})
    assert (cluster.store.version, watch.events()) == (version, [])


@pytest.mark.parametrize(
    ("body", "status", "message"),
    [
        (
            {"metadata": {"name": "z"}},
            400,
            "the name of the object (z) does not match the name on the URL (m)",
        ),
        ({"metadata": {}}, 400, "the name of the object (m based on URL) was undeterminable"),
        ({"metadata": {"name": "m", "namespace": "z"}}, 400, "does not match the namespace sent"),
        ({"metadata": {"name": "m", "uid": "z"}}, 409, "Precondition failed: UID in precondition: z"),
        ({"metadata": {"name": "m", "resourceVersion": "abc"}}, 400, "invalid resource version"),
    ],
)
def test_an_update_means_the_object_of_its_url(
    cluster: Cluster, body: dict[str, Any], status: int, message: str
) -> None:
    cluster.config_map("m")
    reply = cluster.ask("PUT", f"{CONFIG_MAPS}/m", body)
    assert reply.status == status
    assert message in reply.message


@pytest.mark.parametrize("method", ["PUT", "PATCH", "DELETE", "GET"])
def test_what_is_not_there_is_404(cluster: Cluster, method: str) -> None:
    body = None if method == "GET" else {"metadata": {"name": "m"}}
    kind = MERGE_PATCH if method == "PATCH" else "application/json"
    reply = cluster.ask(method, f"{CONFIG_MAPS}/m", body, kind=kind)
    assert (reply.status, reply.message) == (404, 'configmaps "m" not found')


def test_the_generation_counts_changes_of_the_spec_alone(cluster: Cluster) -> None:
    cluster.note("n")
    assert (
        cluster.merge(f"{NOTES}/n", {"metadata": {"labels": {"a": "b"}}}).json["metadata"]["generation"] == 1
    )
    assert (
        cluster.merge(f"{NOTES}/n/status", {"status": {"phase": "Open"}}).json["metadata"]["generation"] == 1
    )
    assert cluster.merge(f"{NOTES}/n", {"spec": {"done": True}}).json["metadata"]["generation"] == 2


def test_the_status_is_changed_through_its_subresource_and_nothing_else_is(cluster: Cluster) -> None:
    cluster.note("n", "old")
    change = {"spec": {"text": "new"}, "status": {"phase": "Done"}, "metadata": {"labels": {"a": "b"}}}
    through_status = cluster.merge(f"{NOTES}/n/status", change).json
    assert through_status["spec"]["text"] == "old" and through_status["status"] == {"phase": "Done"}
    assert "labels" not in through_status["metadata"]
    through_main = cluster.merge(f"{NOTES}/n", change | {"status": {"phase": "Open"}}).json
    assert through_main["spec"]["text"] == "new" and through_main["status"] == {"phase": "Done"}
    assert cluster.ask("GET", f"{NOTES}/n/status").json == through_main


def test_a_phase_is_one_of_those_there_are(cluster: Cluster) -> None:
    cluster.note("n")
    reply = cluster.merge(f"{NOTES}/n/status", {"status": {"phase": "Lost"}})
    assert reply.json["details"]["causes"] == [
        {
            "reason": "FieldValueNotSupported",
            "message": 'Unsupported value: "Lost": supported values: "Open", "Done"',
            "field": "status.phase",
        }
    ]


# Patch.


def test_both_patches_change_the_object(cluster: Cluster) -> None:
    cluster.config_map("m", a="1", b="2")
    merged = cluster.merge(f"{CONFIG_MAPS}/m", {"data": {"a": None, "c": "3"}})
    assert merged.json["data"] == {"b": "2", "c": "3"}
    operations = [{"op": "test", "path": "/data/b", "value": "2"}, {"op": "remove", "path": "/data/b"}]
    assert cluster.ask("PATCH", f"{CONFIG_MAPS}/m", operations, kind=JSON_PATCH).json["data"] == {"c": "3"}


@pytest.mark.parametrize(
    "kind",
    [
        "application/strategic-merge-patch+json",
        "application/apply-patch+yaml",
        "application/json",
        "text/plain",
        "application/merge-patch+json-ish",
    ],
)
def test_any_other_patch_is_an_unsupported_media_type(cluster: Cluster, kind: str) -> None:
    cluster.config_map("m")
    reply = cluster.ask("PATCH", f"{CONFIG_MAPS}/m", {}, kind=kind)
    assert (reply.status, reply.json["reason"]) == (415, "UnsupportedMediaType")
    assert reply.message.endswith("application/json-patch+json, application/merge-patch+json")


@pytest.mark.parametrize(
    ("kind", "body", "status", "message"),
    [
        (JSON_PATCH, b"{", 400, "invalid JSON patch"),
        (JSON_PATCH, {}, 400, "error decoding patch"),
        (MERGE_PATCH, [], 400, "error decoding patch"),
        (JSON_PATCH, [{"op": "replace", "path": "", "value": 5}], 400, "error decoding patch"),
        (JSON_PATCH, [{"op": "test", "path": "/data", "value": 5}], 422, "the server rejected our request"),
        (MERGE_PATCH, {"data": {"a": 5}}, 422, "ConfigMap.data.a"),
        (MERGE_PATCH, {"metadata": {"name": "z"}}, 400, "does not match the name on the URL"),
        (
            MERGE_PATCH,
            {"metadata": {"uid": "z"}},
            422,
            'metadata.uid: Invalid value: "z": field is immutable',
        ),
        (MERGE_PATCH, {"metadata": {"resourceVersion": "1"}}, 409, "the object has been modified"),
    ],
)
def test_a_patch_that_cannot_be_is_refused(
    cluster: Cluster, kind: str, body: Any, status: int, message: str
) -> None:
    before = cluster.config_map("m", a="1")
    reply = cluster.ask("PATCH", f"{CONFIG_MAPS}/m", body, kind=kind)
    assert reply.status == status
    assert message in reply.message
    assert cluster.ask("GET", f"{CONFIG_MAPS}/m").json == before


def test_a_deeply_nested_patch_is_a_bad_request(cluster: Cluster) -> None:
    cluster.config_map("m")
    for depth in (400, 600, 990, 50_000):
        nested = b'{"data":' * depth + b"1" + b"}" * depth
        assert cluster.ask("PATCH", f"{CONFIG_MAPS}/m", nested, kind=MERGE_PATCH).status in (400, 422)
        operation = b'[{"op":"add","path":"/data","value":' + nested + b"}]"
        assert cluster.ask("PATCH", f"{CONFIG_MAPS}/m", operation, kind=JSON_PATCH).status in (400, 422)


def test_immutable_data_stays_as_it_is(cluster: Cluster) -> None:
    cluster.create(CONFIG_MAPS, {"metadata": {"name": "m"}, "immutable": True, "data": {"a": "1"}})
    changed = cluster.merge(f"{CONFIG_MAPS}/m", {"data": {"a": "2"}})
    assert changed.message == (
        'ConfigMap "m" is invalid: data: Forbidden: field is immutable when `immutable` is set'
    )
    assert cluster.merge(f"{CONFIG_MAPS}/m", {"immutable": False}).status == 422
    assert cluster.merge(f"{CONFIG_MAPS}/m", {"metadata": {"labels": {"a": "b"}}}).status == 200


def test_what_a_secret_is_given_as_text_it_keeps_encoded(cluster: Cluster) -> None:
    created = cluster.create(
        SECRETS, {"metadata": {"name": "s"}, "stringData": {"a": "b"}, "data": {"c": "ZA=="}}
    )
    assert created["data"] == {"a": "Yg==", "c": "ZA=="}
    assert created["type"] == "Opaque"
    assert "stringData" not in created
    assert "field is immutable" in cluster.merge(f"{SECRETS}/s", {"type": "other"}).message


# Delete.


def test_a_delete_answers_success_and_names_what_went(cluster: Cluster) -> None:
    uid = cluster.note("n")["metadata"]["uid"]
    reply = cluster.ask("DELETE", f"{NOTES}/n")
    assert (reply.status, reply.json) == (
        200,
        {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Success",
            "details": {"name": "n", "group": "example.com", "kind": "notes", "uid": uid},
        },
    )
    assert cluster.ask("GET", f"{NOTES}/n").status == 404


@pytest.mark.parametrize(
    ("preconditions", "why"),
    [
        ({"uid": "z"}, "the UID in the precondition (z) does not match the UID in record"),
        ({"resourceVersion": "1"}, "the ResourceVersion in the precondition (1) does not match"),
    ],
)
def test_a_delete_with_another_object_in_mind_is_a_conflict(
    cluster: Cluster, preconditions: dict[str, str], why: str
) -> None:
    cluster.config_map("m")
    reply = cluster.ask("DELETE", f"{CONFIG_MAPS}/m", {"preconditions": preconditions})
    assert (reply.status, reply.json["reason"]) == (409, "Conflict")
    assert why in reply.message
    assert cluster.ask("GET", f"{CONFIG_MAPS}/m").status == 200


def test_a_delete_with_this_object_in_mind_succeeds(cluster: Cluster) -> None:
    metadata = cluster.config_map("m")["metadata"]
    exact = {"uid": metadata["uid"], "resourceVersion": metadata["resourceVersion"]}
    assert cluster.ask("DELETE", f"{CONFIG_MAPS}/m", {"preconditions": exact}).status == 200


@pytest.mark.parametrize("body", [b"junk", b"[]", {"preconditions": 5}, {"preconditions": {"uid": 5}}])
def test_unreadable_delete_options_delete_nothing(cluster: Cluster, body: Any) -> None:
    cluster.config_map("m")
    assert cluster.ask("DELETE", f"{CONFIG_MAPS}/m", body).status == 400
    assert cluster.ask("GET", f"{CONFIG_MAPS}/m").status == 200


def test_finalizers_hold_a_deleted_object_back_until_the_last_is_gone(cluster: Cluster) -> None:
    held = {"name": "m", "finalizers": ["example.com/f"]}
    cluster.create(CONFIG_MAPS, {"metadata": held})
    watch = cluster.watch(f"{CONFIG_MAPS}?watch=1&resourceVersion={cluster.store.version}")
    for _ in range(2):
        marked = cluster.ask("DELETE", f"{CONFIG_MAPS}/m").json
        assert marked["metadata"]["deletionTimestamp"] == "2027-01-15T08:00:00Z"
        assert marked["metadata"]["deletionGracePeriodSeconds"] == 0
    assert cluster.merge(f"{CONFIG_MAPS}/m", {"metadata": {"finalizers": None}}).status == 200
    assert cluster.ask("GET", f"{CONFIG_MAPS}/m").status == 404
    assert watch.names() == [("MODIFIED", "m"), ("DELETED", "m")]


def test_a_collection_is_deleted_by_selection(cluster: Cluster) -> None:
    cluster.config_map("a", labels={"t": "1"})
    cluster.config_map("b")
    deleted = cluster.ask("DELETE", f"{CONFIG_MAPS}?labelSelector=t%3D1").json
    assert [item["metadata"]["name"] for item in deleted["items"]] == ["a"]
    left = cluster.ask("GET", CONFIG_MAPS).json["items"]
    assert [item["metadata"]["name"] for item in left] == ["b"]


def test_a_deleted_namespace_takes_its_objects_with_it(cluster: Cluster) -> None:
    cluster.config_map("m")
    cluster.note("n")
    namespaces = cluster.watch("/api/v1/namespaces?watch=1&fieldSelector=metadata.name%3Ddemo", as_="admin")
    reply = cluster.ask("DELETE", "/api/v1/namespaces/demo", as_="admin")
    assert (reply.status, reply.json["status"]) == (200, {"phase": "Terminating"})
    assert [kind for kind, _ in namespaces.events()] == ["ADDED", "MODIFIED", "DELETED"]
    assert cluster.ask("GET", CONFIG_MAPS).json["items"] == []
    assert cluster.ask("GET", "/api/v1/namespaces/demo", as_="admin").status == 404


def test_a_namespace_waits_for_finalizers_and_takes_nothing_new_meanwhile(cluster: Cluster) -> None:
    cluster.create(CONFIG_MAPS, {"metadata": {"name": "m", "finalizers": ["example.com/f"]}})
    cluster.ask("DELETE", "/api/v1/namespaces/demo", as_="admin")
    refused = cluster.ask("POST", CONFIG_MAPS, {"metadata": {"name": "new"}})
    assert (refused.status, refused.json["reason"]) == (403, "Forbidden")
    assert refused.json["details"]["causes"][0]["reason"] == "NamespaceTerminating"
    cluster.merge(f"{CONFIG_MAPS}/m", {"metadata": {"finalizers": None}})
    assert cluster.ask("GET", "/api/v1/namespaces/demo", as_="admin").status == 404


def test_a_namespace_keeps_what_only_the_system_decides(cluster: Cluster) -> None:
    change = {"metadata": {"labels": {"a": "b"}}, "spec": {"finalizers": []}, "status": {"phase": "Lost"}}
    changed = cluster.merge("/api/v1/namespaces/demo", change, as_="admin").json
    assert changed["metadata"]["labels"] == {"a": "b", "kubernetes.io/metadata.name": "demo"}
    assert (changed["spec"], changed["status"]) == ({"finalizers": ["kubernetes"]}, {"phase": "Active"})


def test_a_dry_run_of_the_last_finalizer_or_a_namespace_deletes_nothing(cluster: Cluster) -> None:
    cluster.create(CONFIG_MAPS, {"metadata": {"name": "m", "finalizers": ["example.com/f"]}})
    cluster.ask("DELETE", f"{CONFIG_MAPS}/m")
    assert cluster.merge(f"{CONFIG_MAPS}/m?dryRun=All", {"metadata": {"finalizers": None}}).status == 200
    assert cluster.ask("DELETE", "/api/v1/namespaces/demo?dryRun=All", as_="admin").status == 200
    assert cluster.ask("GET", f"{CONFIG_MAPS}/m").status == 200


def test_a_strict_patch_is_refused_for_what_it_leaves_unknown(cluster: Cluster) -> None:
    cluster.note("n")
    reply = cluster.merge(f"{NOTES}/n?fieldValidation=Strict", {"spec": {"colour": "red"}})
    assert (reply.status, "strict decoding error" in reply.message) == (400, True)


def test_an_unknown_field_validation_is_refused(cluster: Cluster) -> None:
    reply = cluster.ask("PUT", f"{CONFIG_MAPS}/m?fieldValidation=Loose", {"metadata": {"name": "m"}})
    assert reply.message.startswith(
        'UpdateOptions.meta.k8s.io "" is invalid: fieldValidation: Unsupported value'
    )


def test_a_full_store_says_so(cluster: Cluster) -> None:
    small = Cluster(quota_bytes=2000)
    reply = small.ask("POST", CONFIG_MAPS, {"metadata": {"name": "m"}, "data": {"a": "x" * 2000}})
    assert (reply.status, reply.message) == (500, "etcdserver: mvcc: database space exceeded")
