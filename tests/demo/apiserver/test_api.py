"""The API server's front: who may ask what, discovery, and how answers are dressed."""

import gzip
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foyer.demo.apiserver.resources import RESOURCES, REVIEWS
from foyer.exchange.ports import Answer
from tests.demo.fakes import CONFIG_MAPS, NOTES, SECRETS, Cluster, ask

AGGREGATED = b"application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"


def get(cluster: Cluster, path: str, accept: bytes = b"", **options: Any) -> Any:
    fields = [(b"accept", accept)] if accept else []
    return cluster.ask("GET", path, fields=fields, **options)


# Who.


@pytest.mark.parametrize("authorization", [None, b"Bearer", b"Bearer nobody", b"Basic YTpi", b"Bearer ada x"])
def test_without_a_good_token_everything_is_401(cluster: Cluster, authorization: bytes | None) -> None:
    fields = [] if authorization is None else [(b"authorization", authorization)]
    for path in (CONFIG_MAPS, "/version", "/apis", "/nowhere"):
        answer = ask(cluster.api, "GET", path, cluster.clock(), fields=fields)
        assert isinstance(answer, Answer)
        assert answer.status == 401
        assert json.loads(answer.content) == {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": "Unauthorized",
            "reason": "Unauthorized",
            "code": 401,
        }


def test_two_authorization_fields_are_no_token(cluster: Cluster) -> None:
    fields = [(b"authorization", b"Bearer ada"), (b"authorization", b"Bearer ada")]
    answer = ask(cluster.api, "GET", CONFIG_MAPS, cluster.clock(), fields=fields)
    assert isinstance(answer, Answer) and answer.status == 401


@pytest.mark.parametrize("path", ["/healthz", "/livez", "/readyz"])
def test_probes_need_no_token(cluster: Cluster, path: str) -> None:
    answer = ask(cluster.api, "GET", path, cluster.clock())
    assert isinstance(answer, Answer)
    assert (answer.status, answer.content) == (200, b"ok")


# What they may.

FORBIDDEN = [
    (
        "GET",
        SECRETS,
        'secrets is forbidden: User "bob@example.com" cannot list resource "secrets" in API group ""',
    ),
    ("GET", f"{SECRETS}/x", 'secrets "x" is forbidden: User "bob@example.com" cannot get resource "secrets"'),
    ("GET", "/api/v1/secrets", 'cannot list resource "secrets" in API group "" at the cluster scope'),
    ("GET", f"{SECRETS}?watch=1", 'cannot watch resource "secrets"'),
    ("GET", "/api/v1/watch/namespaces/demo/secrets", 'cannot watch resource "secrets"'),
    ("POST", CONFIG_MAPS, 'cannot create resource "configmaps"'),
    (
        "PUT",
        f"{NOTES}/n",
        'notes.example.com "n" is forbidden: User "bob@example.com" cannot update resource "notes"',
    ),
    ("PATCH", f"{NOTES}/n/status", 'cannot patch resource "notes/status" in API group "example.com"'),
    ("DELETE", f"{NOTES}/n", 'cannot delete resource "notes"'),
    ("DELETE", NOTES, 'cannot deletecollection resource "notes"'),
    ("GET", "/api/v1/namespaces/kube-system/configmaps", 'in the namespace "kube-system"'),
    (
        "GET",
        "/api/v1/namespaces/demo/pods",
        'pods is forbidden: User "bob@example.com" cannot list resource "pods"',
    ),
    ("GET", "/metrics", 'forbidden: User "bob@example.com" cannot get path "/metrics"'),
    ("POST", "/version", 'forbidden: User "bob@example.com" cannot post path "/version"'),
]


@pytest.mark.parametrize(("method", "path", "message"), FORBIDDEN)
def test_what_a_person_may_not_do_is_403_in_kubernetes_words(
    cluster: Cluster, method: str, path: str, message: str
) -> None:
    reply = cluster.ask(method, path, as_="bob")
    assert (reply.status, reply.json["reason"]) == (403, "Forbidden")
    assert message in reply.message
    assert reply.fields["x-content-type-options"] == "nosniff"


def test_a_reader_reads(cluster: Cluster) -> None:
    cluster.note("n")
    assert cluster.ask("GET", f"{NOTES}/n", as_="bob").status == 200
    assert cluster.watch(f"{NOTES}?watch=1", as_="bob").names() == [("ADDED", "n")]


def test_refusals_come_before_anything_is_looked_at(cluster: Cluster) -> None:
    assert cluster.ask("POST", CONFIG_MAPS, b"junk", as_="bob").status == 403
    assert cluster.ask("GET", f"{SECRETS}/absent", as_="bob").status == 403


# Where.


@pytest.mark.parametrize(
    "path",
    [
        "/api/v1/namespaces/demo/pods",
        "/api/v1/namespaces/demo/configmaps/m/status",
        "/apis/example.com/v2/namespaces/demo/notes",
        "/apis/elsewhere.example.com/v1/things",
        f"{NOTES}/n/status/more",
        f"{NOTES}/n/scale",
        "/api/v1/configmaps/m",
        "/nowhere",
        "/",
    ],
)
def test_where_nothing_is_served_is_a_plain_404(cluster: Cluster, path: str) -> None:
    reply = cluster.ask("GET", path, as_="admin")
    assert (reply.status, reply.content) == (404, b"404 page not found\n")


def test_an_unknown_version_of_the_core_is_a_status(cluster: Cluster) -> None:
    assert cluster.ask("GET", "/api/v2").message == "the server could not find the requested resource"


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", f"{CONFIG_MAPS}/m"),
        ("PUT", CONFIG_MAPS),
        ("PATCH", CONFIG_MAPS),
        ("HEAD", f"{CONFIG_MAPS}/m"),
        ("OPTIONS", CONFIG_MAPS),
        ("DELETE", f"{NOTES}/n/status"),
        ("POST", "/api/v1/configmaps"),
        ("DELETE", "/api/v1/configmaps"),
        ("DELETE", "/api/v1/namespaces"),
        ("POST", "/version"),
        ("GET", "/apis/authentication.k8s.io/v1/selfsubjectreviews"),
        ("POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews/x"),
        ("POST", "/api/v1/watch/namespaces/demo/configmaps"),
    ],
)
def test_a_method_that_a_path_does_not_have_is_405(cluster: Cluster, method: str, path: str) -> None:
    reply = cluster.ask(method, path, as_="admin")
    assert (reply.status, reply.json["reason"]) == (405, "MethodNotAllowed")


@given(st.text(max_size=40), st.text(max_size=20))
def test_no_path_or_query_is_a_fault_of_ours(path: str, query: str) -> None:
    cluster = Cluster()
    for root in ("/", "/api/v1/", "/apis/", f"{CONFIG_MAPS}/", "/openapi/v3/"):
        reply = cluster.ask("GET", f"{root}{path}?{query}".replace("watch", ""), as_="admin")
        assert reply.status < 500


# Discovery.


def test_the_version_is_that_whose_semantics_are_served(cluster: Cluster) -> None:
    assert get(cluster, "/version").json["minor"] == "37"


def test_every_resource_listed_is_served_and_every_one_served_is_listed(cluster: Cluster) -> None:
    groups = [group["name"] for group in get(cluster, "/apis").json["groups"]]
    roots = ["/api/v1"] + [f"/apis/{group}/v1" for group in groups]
    listed = [(root, row) for root in roots for row in get(cluster, root).json["resources"]]
    assert len(listed) == sum(1 + row.status for row in RESOURCES) + len(REVIEWS)
    for root, row in listed:
        if "/" in row["name"] or "list" not in row["verbs"]:
            continue
        reply = get(cluster, f"{root}/{row['name']}", as_="admin")
        assert (reply.status, reply.json["kind"]) == (200, f"{row['kind']}List")


def test_both_forms_of_discovery_tell_the_same(cluster: Cluster) -> None:
    items = [item for path in ("/api", "/apis") for item in get(cluster, path, AGGREGATED).json["items"]]
    aggregated = {
        (item["metadata"].get("name", ""), row["resource"]): (
            row["verbs"],
            row["scope"],
            row["singularResource"],
        )
        for item in items
        for row in item["versions"][0]["resources"]
    }
    unaggregated = {}
    for name in ["", *(group["name"] for group in get(cluster, "/apis").json["groups"])]:
        root = f"/apis/{name}/v1" if name else "/api/v1"
        for row in get(cluster, root).json["resources"]:
            if "/" not in row["name"]:
                scope = "Namespaced" if row["namespaced"] else "Cluster"
                unaggregated[name, row["name"]] = (row["verbs"], scope, row["singularName"])
    assert aggregated == unaggregated


def test_a_group_is_described_and_a_strange_one_is_not_there(cluster: Cluster) -> None:
    assert get(cluster, "/apis/example.com").json["preferredVersion"]["groupVersion"] == "example.com/v1"
    assert get(cluster, "/apis/strange.example.com").status == 404
    assert get(cluster, "/apis/example.com/v2").status == 404
    assert get(cluster, "/api").json["versions"] == ["v1"]


def test_open_api_describes_what_is_validated(cluster: Cluster) -> None:
    index = get(cluster, "/openapi/v3").json["paths"]
    assert set(index) == {"api/v1", "apis/example.com/v1"}
    url = index["apis/example.com/v1"]["serverRelativeURL"]
    document = get(cluster, url).json
    note = document["components"]["schemas"]["com.example.v1.Note"]
    assert note["properties"]["spec"]["required"] == ["text"]
    assert note["x-kubernetes-group-version-kind"] == [
        {"group": "example.com", "kind": "Note", "version": "v1"}
    ]
    patch = document["paths"]["/apis/example.com/v1/namespaces/{namespace}/notes/{name}"]["patch"]
    assert "fieldValidation" in [parameter["name"] for parameter in patch["parameters"]]
    definitions = get(cluster, "/openapi/v2").json["definitions"]
    assert definitions["com.example.v1.Note"]["properties"] == note["properties"]
    assert get(cluster, "/openapi/v3/apis/strange/v1").status == 404


def test_every_reference_in_open_api_leads_somewhere(cluster: Cluster) -> None:
    for name in get(cluster, "/openapi/v3").json["paths"]:
        document = get(cluster, f"/openapi/v3/{name}").json
        for part in json.dumps(document).split('"$ref": "#/components/schemas/')[1:]:
            assert part.partition('"')[0] in document["components"]["schemas"]


# How answers are dressed.


@pytest.mark.parametrize(
    ("accept", "status"),
    [
        (b"", 200),
        (b"*/*", 200),
        (b"application/*", 200),
        (b"application/json", 200),
        (b"application/json;q=0.5, text/html", 200),
        (b"application/json;as=Table;v=v1;g=meta.k8s.io,application/json", 200),
        (b"application/vnd.kubernetes.protobuf, application/json", 200),
        (b"application/json;as=Table;v=v1;g=meta.k8s.io", 406),
        (b"application/vnd.kubernetes.protobuf", 406),
        (b"text/html", 406),
    ],
)
def test_json_is_what_there_is(cluster: Cluster, accept: bytes, status: int) -> None:
    for path in (CONFIG_MAPS, "/version", "/api"):
        assert get(cluster, path, accept).status == status


@pytest.mark.parametrize("accept", [AGGREGATED, AGGREGATED + b",application/json"])
def test_aggregated_discovery_is_given_where_it_is_asked_for(cluster: Cluster, accept: bytes) -> None:
    reply = get(cluster, "/apis", accept)
    assert (reply.json["kind"], reply.fields["content-type"]) == (
        "APIGroupDiscoveryList",
        AGGREGATED.decode(),
    )
    assert get(cluster, "/apis", b"application/json," + AGGREGATED).json["kind"] == "APIGroupList"
    assert get(cluster, CONFIG_MAPS, AGGREGATED).status == 406


@pytest.mark.parametrize("kind", ["application/yaml", "text/plain", "application/vnd.kubernetes.protobuf"])
@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", CONFIG_MAPS),
        ("PUT", f"{CONFIG_MAPS}/m"),
        ("DELETE", f"{CONFIG_MAPS}/m"),
        ("POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews"),
    ],
)
def test_other_content_than_json_is_415(cluster: Cluster, kind: str, method: str, path: str) -> None:
    reply = cluster.ask(method, path, b"x", kind=kind)
    assert (reply.status, reply.json["reason"]) == (415, "UnsupportedMediaType")


def test_a_list_past_128_kib_is_compressed_for_who_takes_gzip(cluster: Cluster) -> None:
    cluster.config_map("m", k="x" * 130_000)
    plain = cluster.ask("GET", CONFIG_MAPS)
    asked = [(b"accept-encoding", b"br, gzip")]
    small = cluster.ask("GET", CONFIG_MAPS, fields=asked)
    assert "content-encoding" not in plain.fields and "content-encoding" not in small.fields
    cluster.config_map("n", k="x" * 2_000)
    whole = cluster.ask("GET", CONFIG_MAPS)
    large = cluster.ask("GET", CONFIG_MAPS, fields=asked)
    assert (large.fields["content-encoding"], large.fields["vary"]) == ("gzip", "Accept-Encoding")
    assert gzip.decompress(large.content) == whole.content
    other = cluster.ask("GET", CONFIG_MAPS, fields=[(b"accept-encoding", b"br, gzip;q=1")])
    assert "content-encoding" not in other.fields


def test_every_answer_is_numbered_for_the_audit_and_not_to_be_kept(cluster: Cluster) -> None:
    first, second = cluster.ask("GET", CONFIG_MAPS), cluster.ask("GET", f"{CONFIG_MAPS}/absent")
    assert first.fields["audit-id"] != second.fields["audit-id"]
    assert {first.fields["cache-control"], second.fields["cache-control"]} == {"no-cache, private"}


def test_too_large_a_request_is_told_the_limit(cluster: Cluster) -> None:
    answer = cluster.api.too_large(3145728)
    assert answer.status == 413
    status = json.loads(answer.content)
    assert status["message"] == "Request entity too large: limit is 3145728"


def test_a_query_of_a_thousand_parameters_is_not_read(cluster: Cluster) -> None:
    assert cluster.ask("GET", f"{CONFIG_MAPS}?" + "&".join(f"a{i}=1" for i in range(1000))).status == 400
