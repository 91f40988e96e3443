"""Scopes: what a query means, what is refused, and what the API server is asked (spec 05, Scope)."""

from urllib.parse import quote, urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foyer.streams import scope
from foyer.streams.errors import Code, StreamError
from foyer.streams.projection import Projection
from foyer.streams.scope import Opening, Scope
from tests.streams.following import TARGETS, opening


def refused(query: bytes) -> str:
    """The message that the query is refused with."""
    found = scope.read(query, TARGETS)
    assert isinstance(found, StreamError), found
    assert (found.code, found.terminal) == (Code.SCOPE_INVALID, True)
    return found.message


WHOLE = Scope("prod", "apps", "v1", "deployments", "app", "web", "tier in (a, b)")


def test_every_field_is_read_in_any_order() -> None:
    fields = WHOLE.fields() | {"projection": "krm-spec/v1"}
    for order in (list(fields.items()), list(reversed(fields.items()))):
        found = opening(urlencode(order).encode())
        assert found == Opening(WHOLE, "prod", Projection.SPEC)


def test_without_a_target_the_default_is_meant_and_none_was_asked_for() -> None:
    found = opening(b"version=v1&resource=configmaps")
    assert (found.scope.target, found.asked_target) == ("demo", "")
    assert found.scope == opening(b"version=v1&resource=configmaps&target=demo").scope


def test_the_full_projection_is_the_default() -> None:
    assert opening(b"version=v1&resource=secrets").projection is Projection.FULL
    assert opening(b"version=v1&resource=secrets&projection=").projection is Projection.FULL


def test_an_empty_field_is_absent() -> None:
    given = b"target=&group=&version=v1&resource=pods&namespace=&name=&labelSelector=&projection="
    assert opening(given) == opening(b"version=v1&resource=pods")
    assert "resource" in refused(b"version=v1&resource=")
    assert "version" in refused(b"version=&resource=pods")


@pytest.mark.parametrize(
    "field", ["target", "group", "version", "resource", "namespace", "name", "labelSelector", "projection"]
)
def test_a_repeated_field_is_refused_be_it_empty_or_the_same(field: str) -> None:
    value = (WHOLE.fields() | {"projection": "krm-raw/v1"})[field]
    query = urlencode({"version": "v1", "resource": "pods"} | {field: value}).encode()
    assert isinstance(scope.read(query, TARGETS), Opening)
    for again in (f"{field}={quote(value)}".encode(), f"{field}=".encode()):
        assert refused(query + b"&" + again) == f"{field} is given twice."
        assert refused(again + b"&" + query) == f"{field} is given twice."
    assert refused(query + b"&" + quote(field).replace("e", "%65").encode() + b"=x")


@pytest.mark.parametrize("name", sorted(scope.REFUSED))
def test_an_address_or_a_credential_is_refused_in_any_letter_case_and_spelling(name: bytes) -> None:
    for spelled in (name, name.upper(), name.title(), b"%%%02X" % name[0] + name[1:]):
        for pair in (spelled + b"=x", spelled + b"=", spelled):
            assert "refused" in refused(b"version=v1&resource=pods&" + pair)


def test_other_parameters_are_ignored_repeated_or_not() -> None:
    query = b"version=v1&resource=pods"
    assert opening(query + b"&fieldSelector=a&x=1&x=2&Namespace=A&tokens=1&%ff=1") == opening(query)


@pytest.mark.parametrize(
    "query",
    [
        b"version=v1&resource=pods&x=%",
        b"version=v1&resource=pods&x=%zz",
        b"version=v1&resource=pods" + b"&x=1" * 64,
        b"version=v1&resource=pods&namespace=%ff",
        b"version=v1&resource=pods&labelSelector=a%3D%c3%28",
    ],
)
def test_a_query_that_cannot_be_read_is_refused(query: bytes) -> None:
    assert refused(query)


@pytest.mark.parametrize(
    ("field", "values"),
    [
        ("target", ["other", "DEMO", "https://10.0.0.1", "demo/"]),
        ("group", ["apps/v1", "Apps", ".apps", "apps.", "a b", "x" * 254]),
        ("version", ["v1/../..", "V1", "v1.2", "1", "v" * 64]),
        (
            "resource",
            ["ConfigMap", "pods/log", "configmaps/", "pods?x=1", "pods%2Flog", "1pods", "p" * 64, ".."],
        ),
        ("namespace", ["../../kube-system", "a.b", "A", "a/b", "-a", "n" * 64, "a\n", "a#b"]),
        ("name", ["app/../../etc", "Web", "a_b", "..", "a b", "n" * 254]),
        ("labelSelector", ["a=", "a in (", "a=b&c"][1:]),
        ("projection", ["krm-full", "krm-full/v2", "KRM-FULL/V1"]),
    ],
)
def test_a_field_that_is_not_what_kubernetes_takes_is_refused(field: str, values: list[str]) -> None:
    for value in values:
        given = {"version": "v1", "resource": "pods"} | {field: value}
        assert refused(urlencode(given).encode())


def test_a_group_of_its_own_names_its_objects_as_it_likes_within_a_segment() -> None:
    roles = {"group": "rbac.authorization.k8s.io", "version": "v1", "resource": "clusterroles"}
    assert (
        opening(urlencode(roles | {"name": "system:Node=1,2\\"}).encode()).scope.name == "system:Node=1,2\\"
    )
    for name in ("..", "a/b", "a%b", "a\0"):
        assert refused(urlencode(roles | {"name": name}).encode())


def test_a_missing_resource_or_version_is_never_guessed() -> None:
    assert "resource is missing" in refused(b"version=v1&namespace=app")
    assert "version is missing" in refused(b"resource=configmaps&namespace=app")
    assert refused(b"")


def test_messages_are_sentences() -> None:
    for query in (b"", b"version=v1&resource=P", b"version=v1&resource=pods&labelSelector=%2C", b"token=1"):
        assert refused(query).endswith(".")


def test_a_resource_is_named_as_kubectl_does() -> None:
    assert opening(b"version=v1&resource=configmaps").scope.kubectl_name == "configmaps"
    assert opening(b"group=example.com&version=v1&resource=notes").scope.kubectl_name == "notes.example.com"


def test_only_the_core_groups_secrets_are_secrets() -> None:
    assert opening(b"version=v1&resource=secrets").scope.has_secrets
    assert not opening(b"group=example.com&version=v1&resource=secrets").scope.has_secrets
    assert not opening(b"version=v1&resource=configmaps").scope.has_secrets


STREAMING = b"watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"


def test_what_the_api_server_is_asked_byte_for_byte() -> None:
    core = opening(b"version=v1&resource=configmaps&namespace=app").scope
    assert core.streaming_list() == b"/api/v1/namespaces/app/configmaps?" + STREAMING
    assert core.page() == b"/api/v1/namespaces/app/configmaps?limit=500"
    assert core.page("eyJ2+/=") == b"/api/v1/namespaces/app/configmaps?limit=500&continue=eyJ2%2B%2F%3D"
    assert core.watch("12&x=") == (
        b"/api/v1/namespaces/app/configmaps?watch=1&resourceVersion=12%26x%3D&allowWatchBookmarks=true"
    )
    everywhere = opening(b"group=example.com&version=v1beta1&resource=notes").scope
    assert everywhere.page() == b"/apis/example.com/v1beta1/notes?limit=500"


def test_a_name_is_a_field_selector_and_the_label_selector_goes_up_as_written() -> None:
    assert WHOLE.streaming_list() == (
        b"/apis/apps/v1/namespaces/app/deployments?"
        + STREAMING
        + b"&fieldSelector=metadata.name%3Dweb&labelSelector=tier%20in%20%28a%2C%20b%29"
    )
    for target in (WHOLE.page(), WHOLE.page("x"), WHOLE.watch("1")):
        assert target.endswith(b"&fieldSelector=metadata.name%3Dweb&labelSelector=tier%20in%20%28a%2C%20b%29")
    odd = WHOLE._replace(name="a=b,c\\d", label_selector="")
    assert odd.page().endswith(b"&fieldSelector=metadata.name%3Da%5C%3Db%5C%2Cc%5C%5Cd")


@given(st.dictionaries(st.sampled_from([*WHOLE.fields(), "projection", "other"]), st.text(max_size=20)))
def test_whatever_is_accepted_is_one_path_and_comes_back_from_its_canonical_query(
    fields: dict[str, str],
) -> None:
    query = urlencode({"version": "v1", "resource": "pods"} | fields).encode()
    found = scope.read(query, TARGETS)
    if isinstance(found, StreamError):
        assert found.code is Code.SCOPE_INVALID
        return
    again = scope.read(found.scope.query().encode(), TARGETS)
    assert isinstance(again, Opening) and again.scope == found.scope
    path, _, options = found.scope.page().partition(b"?")
    assert not set(path) - set(b"/abcdefghijklmnopqrstuvwxyz0123456789-.")
    assert b"//" not in path and b".." not in path
    assert not set(options) - set(b"&=%ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
