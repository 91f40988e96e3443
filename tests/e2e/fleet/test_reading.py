"""Fleet reads over two real clusters of one login (spec 06, Targets and fleet reads)."""

import json
from functools import partial
from typing import Any

import httpx
import pytest

from tests.e2e.fleet.conftest import FLEET, ITEMS, outcomes
from tests.e2e.harness.answers import INTERRUPTION, assert_hardened, assert_interrupted
from tests.e2e.harness.audit import AuditLog
from tests.e2e.harness.browser import Browser
from tests.e2e.harness.cluster import CORE, QUIZ, Cluster
from tests.e2e.harness.waiting import wait_for

LARGE = "/api/v1/namespaces/large/configmaps"

Item = dict[str, Any]


def place(item: Item) -> tuple[str, str, str, str]:
    """What the list is ordered by."""
    metadata = item["object"]["metadata"]
    return metadata["creationTimestamp"], item["target"], metadata["namespace"], metadata["name"]


def whole(cluster: Cluster, path: str) -> list[Item]:
    """What one API server has, as objects that say what they are."""
    listed = cluster.get(path)
    head = {"kind": listed["kind"].removesuffix("List"), "apiVersion": listed["apiVersion"]}
    return [head | item for item in listed["items"]]


def expected(path: str, **clusters: Cluster) -> list[Item]:
    """What all of them have, in order."""
    items = [{"target": name, "object": each} for name in clusters for each in whole(clusters[name], path)]
    return sorted(items, key=place)


def read(answer: httpx.Response) -> Item:
    assert answer.status_code == 200, answer.text[:300]
    assert answer.headers["content-type"] == "application/json"
    assert INTERRUPTION not in answer.headers
    assert_hardened(answer)
    found: Item = answer.json()
    assert (found["kind"], found["apiVersion"]) == ("FleetList", "foyer/v1")
    return found


@pytest.mark.parametrize("path", [f"{CORE}/configmaps", QUIZ, LARGE])
def test_both_clusters_are_one_list_in_order_and_whole(
    path: str, alice: Browser, cluster: Cluster, other: Cluster
) -> None:
    answer = alice.get(f"/fleet/v1{path}?targets=us,eu")
    found = read(answer)
    assert found["items"] == expected(path, eu=cluster, us=other)
    assert found["complete"] is True
    assert found["metadata"] == {}
    count = len(found["items"]) // 2
    assert found["targets"] == [
        {"name": name, "outcome": "ok", "status": 200, "items": count} for name in ("eu", "us")
    ]
    assert "krm-foyer-truncated" not in answer.headers


def test_one_item_too_many_is_cut_off_and_given_by_going_on(
    alice: Browser, cluster: Cluster, other: Cluster
) -> None:
    before = expected(LARGE, eu=cluster, us=other)
    assert len(before) == ITEMS
    made = {"metadata": {"name": "newest"}, "data": {"said": "last"}}
    other.admin.post(LARGE, json=made).raise_for_status()
    try:
        first = alice.get(f"/fleet/v1{LARGE}?targets=eu,us")
        cut = read(first)
        assert first.headers["krm-foyer-truncated"] == "true"
        assert cut["complete"] is False
        assert cut["items"] == before
        after = cut["metadata"]["continue"]
        rest = read(alice.get(f"/fleet/v1{LARGE}?targets=eu,us&continue={after}"))
        assert [place(item)[1:] for item in rest["items"]] == [("us", "large", "newest")]
        assert (rest["complete"], rest["metadata"]) == (True, {})
    finally:
        other.admin.delete(f"{LARGE}/newest").raise_for_status()


def test_what_is_asked_for_by_threes_is_all_of_it_each_once(
    alice: Browser, cluster: Cluster, other: Cluster
) -> None:
    items: list[Item] = []
    after = ""
    while True:
        found = read(alice.get(f"{FLEET}?targets=eu,us&limit=3&continue={after}"))
        assert found["complete"] is True, "less was asked for"
        items += found["items"]
        after = found["metadata"].get("continue", "")
        if not after:
            break
        assert len(found["items"]) == 3
    assert items == expected(f"{CORE}/configmaps", eu=cluster, us=other)


def test_selectors_are_each_api_servers_to_judge(alice: Browser) -> None:
    name = "fieldSelector=metadata.name%3Dsettings-2"
    found = read(alice.get(f"{FLEET}?targets=eu,us&labelSelector=app%3Ddemo&{name}"))
    assert [place(item)[1:] for item in found["items"]] == sorted(
        (target, "demo", "settings-2") for target in ("eu", "us")
    )
    assert read(alice.get(f"{FLEET}?targets=eu,us&labelSelector=app%3Dnothing"))["items"] == []
    wrong = alice.get(f"{FLEET}?targets=eu,us&fieldSelector=data.colour%3Dblue")
    causes = assert_interrupted(wrong, 424, "TargetError")["details"]["causes"]
    assert [(cause["field"], cause["reason"]) for cause in causes] == [
        ("eu", "node-error"),
        ("us", "node-error"),
    ]
    assert all(
        "it answered 400" in cause["message"] and "data.colour" in cause["message"] for cause in causes
    )


def test_each_is_asked_as_the_person_and_told_that_it_is_foyer(
    alice: Browser, cluster: Cluster, other: Cluster
) -> None:
    audits = [each.audit() for each in (cluster, other)]
    read(alice.get(f"{FLEET}?targets=eu,us&labelSelector=app%3Ddemo%2Casked%21%3Dbefore"))
    uri = f"{CORE}/configmaps?limit=500&labelSelector=app%3Ddemo%2Casked%21%3Dbefore"

    def lists(audit: AuditLog) -> list[Item]:
        return [event for event in audit.events() if event["requestURI"] == uri]

    for audit in audits:
        [event] = wait_for("the list in the audit log", partial(lists, audit))
        assert event["user"]["username"] == "alice@example.com"
        assert event["userAgent"] == "foyer"
        assert (event["verb"], event["responseStatus"]["code"]) == ("list", 200)


def test_what_is_no_list_is_no_part_of_one(alice: Browser) -> None:
    answer = alice.get(f"{FLEET}/settings-1?targets=eu,us&partial=true")
    found = read(answer)
    assert outcomes(found) == {"eu": ("node-error", 200), "us": ("node-error", 200)}
    assert (found["items"], found["complete"]) == ([], False)


def test_a_target_that_there_is_not_and_a_query_that_says_too_much_are_refused(alice: Browser) -> None:
    assert_interrupted(alice.get(f"{FLEET}?targets=eu,asia"), 404, "NotFound")
    assert_interrupted(alice.get(f"{FLEET}?watch=1"), 400, "BadRequest")
    assert_interrupted(alice.change("POST", FLEET, json.dumps({}).encode()), 405, "MethodNotAllowed")


def test_a_head_is_the_lists_without_it(alice: Browser) -> None:
    answer = alice.request("HEAD", f"{FLEET}?targets=eu,us")
    assert (answer.status_code, answer.content) == (200, b"")
    assert int(answer.headers["content-length"]) == len(alice.get(f"{FLEET}?targets=eu,us").content)
