"""Lists, whole and in pages."""

import base64
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foyer.demo.apiserver.paging import Position, read_token
from foyer.demo.apiserver.status import Refused
from tests.demo.fakes import CONFIG_MAPS, NOTES, Cluster


def names(document: object) -> list[str]:
    assert isinstance(document, dict)
    return [item["metadata"]["name"] for item in document["items"]]


def pages(cluster: Cluster, query: str) -> list[list[str]]:
    """The names on each page, following `continue` to the end."""
    found, token = [], ""
    while True:
        reply = cluster.ask("GET", f"{CONFIG_MAPS}?{query}&continue={token}")
        assert reply.status == 200, reply.content
        found.append(names(reply.json))
        token = reply.json["metadata"].get("continue", "")
        if not token:
            return found


@pytest.fixture
def five(cluster: Cluster) -> Cluster:
    """Five ConfigMaps, every other one labelled."""
    for number in range(5):
        cluster.config_map(f"m{number}", labels={"even": str(number % 2 == 0).lower()})
    return cluster


def test_a_list_has_every_object_and_the_version_to_watch_from(five: Cluster) -> None:
    reply = five.ask("GET", CONFIG_MAPS)
    assert (reply.json["kind"], reply.json["apiVersion"]) == ("ConfigMapList", "v1")
    assert names(reply.json) == ["m0", "m1", "m2", "m3", "m4"]
    assert reply.json["metadata"] == {"resourceVersion": str(five.store.version)}


def test_items_of_a_built_in_list_have_no_type_and_those_of_a_custom_one_do(cluster: Cluster) -> None:
    cluster.config_map("m")
    cluster.note("n")
    (built_in,) = cluster.ask("GET", CONFIG_MAPS).json["items"]
    (custom,) = cluster.ask("GET", NOTES).json["items"]
    assert "kind" not in built_in and "apiVersion" not in built_in
    assert (custom["kind"], custom["apiVersion"]) == ("Note", "example.com/v1")


def test_an_empty_custom_list_is_written_as_kubernetes_writes_it(cluster: Cluster) -> None:
    content = cluster.ask("GET", NOTES).content
    assert content == (
        b'{"apiVersion":"example.com/v1","items":[],"kind":"NoteList",'
        b'"metadata":{"continue":"","resourceVersion":"%d"}}\n' % cluster.store.version
    )


@pytest.mark.parametrize("limit", [1, 2, 3, 5, 6])
def test_the_pages_of_a_list_are_the_list(five: Cluster, limit: int) -> None:
    found = pages(five, f"limit={limit}")
    assert [name for page in found for name in page] == ["m0", "m1", "m2", "m3", "m4"]
    assert all(len(page) == limit for page in found[:-1])


def test_a_page_says_how_many_items_remain_unless_a_selector_would_have_to_count_them(five: Cluster) -> None:
    plain = five.ask("GET", f"{CONFIG_MAPS}?limit=2").json["metadata"]
    selected = five.ask("GET", f"{CONFIG_MAPS}?limit=2&labelSelector=even=true").json["metadata"]
    assert plain["remainingItemCount"] == 3
    assert "continue" in selected and "remainingItemCount" not in selected


def test_the_pages_of_a_selection_are_the_selection(five: Cluster) -> None:
    assert pages(five, "limit=2&labelSelector=even%3Dtrue") == [["m0", "m2"], ["m4"]]


def test_later_pages_show_the_list_as_it_was_at_the_first(five: Cluster) -> None:
    first = five.ask("GET", f"{CONFIG_MAPS}?limit=2").json["metadata"]
    five.ask("DELETE", f"{CONFIG_MAPS}/m3")
    five.config_map("m2a")
    second = five.ask("GET", f"{CONFIG_MAPS}?limit=2&continue={first['continue']}").json
    assert names(second) == ["m2", "m3"]
    assert second["metadata"]["resourceVersion"] == first["resourceVersion"]
    assert second["metadata"]["remainingItemCount"] == 1


def test_a_token_whose_version_is_compacted_is_410_with_one_that_goes_on_from_now(five: Cluster) -> None:
    token = five.ask("GET", f"{CONFIG_MAPS}?limit=2").json["metadata"]["continue"]
    five.ask("DELETE", f"{CONFIG_MAPS}/m3")
    five.store.compact()
    expired = five.ask("GET", f"{CONFIG_MAPS}?limit=9&continue={token}")
    assert (expired.status, expired.json["reason"]) == (410, "Expired")
    assert expired.message.startswith("The provided continue parameter is too old")
    rest = five.ask("GET", f"{CONFIG_MAPS}?limit=9&continue={expired.json['metadata']['continue']}")
    assert names(rest.json) == ["m2", "m4"]
    assert rest.json["metadata"]["resourceVersion"] == str(five.store.version)


def test_an_exact_version_lists_the_past_until_it_is_compacted(five: Cluster) -> None:
    version = five.store.version
    five.ask("DELETE", f"{CONFIG_MAPS}/m0")
    exact = f"{CONFIG_MAPS}?resourceVersion={version}&resourceVersionMatch=Exact"
    assert names(five.ask("GET", exact).json) == ["m0", "m1", "m2", "m3", "m4"]
    assert names(five.ask("GET", f"{CONFIG_MAPS}?resourceVersion={version}&limit=1").json) == ["m0"]
    five.store.compact()
    gone = five.ask("GET", exact)
    assert (gone.status, gone.message) == (410, "The resourceVersion for the provided list is too old.")


def test_any_version_means_the_newest_and_no_limit(five: Cluster) -> None:
    assert len(names(five.ask("GET", f"{CONFIG_MAPS}?resourceVersion=0&limit=1").json)) == 5


def test_a_version_from_the_future_is_a_504_that_says_when_to_come_back(five: Cluster) -> None:
    for path in (CONFIG_MAPS, f"{CONFIG_MAPS}/m0"):
        reply = five.ask("GET", f"{path}?resourceVersion={five.store.version + 1}")
        assert (reply.status, reply.fields["retry-after"]) == (504, "1")
        assert reply.json["details"]["causes"][0]["reason"] == "ResourceVersionTooLarge"


@pytest.mark.parametrize(
    ("query", "status", "message"),
    [
        ("limit=abc", 400, 'strconv.ParseInt: parsing "abc": invalid syntax'),
        ("resourceVersion=abc", 400, 'invalid resource version: resourceVersion: Invalid value: "abc": '),
        (
            "resourceVersionMatch=Exact",
            422,
            "resourceVersionMatch is forbidden unless resourceVersion is provided",
        ),
        ("resourceVersionMatch=Foo&resourceVersion=1", 422, 'Unsupported value: "Foo"'),
        ("resourceVersionMatch=Exact&resourceVersion=0", 422, 'forbidden for resourceVersion "0"'),
        (
            "continue=e30&resourceVersionMatch=NotOlderThan&resourceVersion=1",
            422,
            "resourceVersionMatch is forbidden when continue is provided",
        ),
        ("sendInitialEvents=true", 422, "sendInitialEvents is forbidden for list"),
        (
            "continue=e30&resourceVersion=5",
            400,
            "specifying resource version is not allowed when using continue",
        ),
        ("continue=junk", 400, "invalid continue token"),
        ("labelSelector=%2C", 400, "found ','"),
        ("fieldSelector=data.a%3Db", 400, '"data.a" is not a known field selector: only "metadata.name"'),
    ],
)
def test_options_that_make_no_sense_are_refused(
    cluster: Cluster, query: str, status: int, message: str
) -> None:
    reply = cluster.ask("GET", f"{CONFIG_MAPS}?{query}")
    assert reply.status == status
    assert message in reply.message


def test_a_custom_kind_names_no_field_but_the_two_of_every_kind(cluster: Cluster) -> None:
    assert (
        cluster.ask("GET", f"{NOTES}?fieldSelector=spec.text%3Dx").message
        == "field label not supported: spec.text"
    )


def test_a_token_from_the_future_is_a_504(five: Cluster) -> None:
    token = Position(five.store.version + 1, "a\0").token()
    assert five.ask("GET", f"{CONFIG_MAPS}?continue={token}").status == 504


def test_the_past_of_one_namespace_is_read_from_its_own_changes(five: Cluster) -> None:
    version = five.store.version
    five.create("/api/v1/namespaces/default/configmaps", {"metadata": {"name": "elsewhere"}})
    past = five.ask("GET", f"{CONFIG_MAPS}?resourceVersion={version}&resourceVersionMatch=Exact")
    assert names(past.json) == ["m0", "m1", "m2", "m3", "m4"]


def test_a_field_selector_picks_by_name_and_namespace(five: Cluster) -> None:
    five.create("/api/v1/namespaces/default/configmaps", {"metadata": {"name": "m0"}})
    everywhere = five.ask("GET", "/api/v1/configmaps?fieldSelector=metadata.name%3Dm0", as_="admin").json
    assert [item["metadata"]["namespace"] for item in everywhere["items"]] == ["default", "demo"]
    one = "metadata.name%3Dm0%2Cmetadata.namespace!%3Ddemo"
    assert len(five.ask("GET", f"/api/v1/configmaps?fieldSelector={one}", as_="admin").json["items"]) == 1


@given(st.integers(1, 10**17), st.from_regex(r"[a-z0-9.-]{1,20}/[a-z0-9-]{1,9}", fullmatch=True))
def test_a_token_reads_back(version: int, start: str) -> None:
    position = Position(version, f"{start}\0")
    if ".." in position.start.split("/"):
        return
    assert read_token(position.token()) == position


@given(st.text(max_size=30) | st.binary(max_size=30).map(lambda b: base64.urlsafe_b64encode(b).decode()))
def test_a_token_that_no_server_wrote_is_a_bad_request(token: str) -> None:
    with pytest.raises(Refused, match="invalid continue token"):
        read_token(token)


@pytest.mark.parametrize(
    "content",
    [
        {"v": "v2", "rv": 5, "start": "/a"},
        {"v": "meta.k8s.io/v1", "rv": 0, "start": "/a"},
        {"v": "meta.k8s.io/v1", "rv": -2, "start": "/a"},
        {"v": "meta.k8s.io/v1", "rv": True, "start": "/a"},
        {"v": "meta.k8s.io/v1", "rv": "5", "start": "/a"},
        {"v": "meta.k8s.io/v1", "rv": 5, "start": "/"},
        {"v": "meta.k8s.io/v1", "rv": 5, "start": "/../secrets/x"},
        {"v": "meta.k8s.io/v1", "rv": 5},
        [],
    ],
)
def test_a_token_with_impossible_content_is_a_bad_request(content: object) -> None:
    token = base64.urlsafe_b64encode(json.dumps(content).encode()).decode().rstrip("=")
    with pytest.raises(Refused, match="invalid continue token"):
        read_token(token)
