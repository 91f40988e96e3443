"""The audit log as the witness of what reached Kubernetes, and as whom (spec 03, What goes up)."""

import pytest

from tests.e2e.harness.answers import assert_passed
from tests.e2e.harness.browser import Browser
from tests.e2e.harness.cluster import CORE, Cluster

CONFIGMAPS = f"{CORE}/configmaps"


def test_a_request_reaches_kubernetes_as_the_person_and_nobody_else(alice: Browser, cluster: Cluster) -> None:
    audit = cluster.audit()
    answer = alice.get(f"/k8s{CONFIGMAPS}", user_agent="e2e/1.0 (a page)")
    event = audit.of(answer.headers["audit-id"])
    user = event["user"]
    assert user["username"] == "alice@example.com"
    assert set(user["groups"]) == {"demo-editors", "team-a", "system:authenticated"}
    assert user["extra"]["foyer.dev/issuer"] == [cluster.env["OIDC_ISSUER"]]
    assert "impersonatedUser" not in event
    assert event["userAgent"] == "e2e/1.0 (a page)"
    assert event["responseStatus"]["code"] == 200


def test_each_person_is_themselves_on_one_shared_way_to_the_api_server(
    alice: Browser, bob: Browser, carol: Browser, cluster: Cluster
) -> None:
    audit = cluster.audit()
    for browser, email, code in (
        (alice, "alice", 200),
        (bob, "bob", 200),
        (carol, "carol", 403),
        (bob, "bob", 200),
    ):
        event = audit.of(browser.get(f"/k8s{CONFIGMAPS}").headers["audit-id"])
        assert (event["user"]["username"], event["responseStatus"]["code"]) == (f"{email}@example.com", code)


@pytest.mark.parametrize(
    "target",
    [
        f"{CONFIGMAPS}?labelSelector=app%3Ddemo&limit=1&x=%7e",
        f"{CONFIGMAPS}?limit=2&limit=3&&=&a=b+c%20d&e",
        f"{CONFIGMAPS}?fieldSelector=metadata.name%3dsettings-1&q=/../%2e%2e//",
        f"{CONFIGMAPS}?",
        f"{CONFIGMAPS}/a%20b%C3%A4%25",
        "/apis/rbac.authorization.k8s.io/v1/clusterroles/system:basic-user",
        f"{CONFIGMAPS}/it's(a)*name,=;@$!&+",
    ],
)
def test_the_target_arrives_byte_for_byte_less_the_prefix(
    alice: Browser, cluster: Cluster, target: str
) -> None:
    audit = cluster.audit()
    answer = alice.get(f"/k8s{target}")
    assert audit.of(answer.headers["audit-id"])["requestURI"] == target


def test_nothing_a_browser_sends_makes_it_someone_else(alice: Browser, cluster: Cluster) -> None:
    audit = cluster.audit()
    token = cluster.mint("mallory@example.com", groups="system:masters")
    answer = alice.request(
        "GET",
        f"/k8s{CONFIGMAPS}",
        {
            "authorization": f"Bearer {token}",
            "impersonate-user": "root",
            "impersonate-group": "system:masters",
            "impersonate-extra-scopes": "all",
            "x-remote-user": "root",
            "x-remote-group": "system:masters",
            "impersonate_user": "root",
            "x-forwarded-for": "203.0.113.7",
            "x-real-ip": "203.0.113.7",
            "forwarded": "for=203.0.113.7",
            "x-forwarded-uri": "/healthz",
            "x-http-method-override": "DELETE",
            "audit-id": "chosen-by-the-browser",
            "traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
        },
    )
    assert_passed(answer)
    event = audit.of(answer.headers["audit-id"])
    assert event["auditID"] != "chosen-by-the-browser"
    assert event["user"]["username"] == "alice@example.com"
    assert "system:masters" not in event["user"]["groups"]
    assert "impersonatedUser" not in event
    assert event["sourceIPs"] == ["127.0.0.1"], "the API server believes X-Forwarded-For"
    assert (event["verb"], event["requestURI"]) == ("list", CONFIGMAPS)


def test_a_watch_is_opened_once_and_closed_with_its_browser(alice: Browser, cluster: Cluster) -> None:
    audit = cluster.audit()
    watch = alice.watch(f"/k8s{CONFIGMAPS}?watch=1&fieldSelector=metadata.name%3Dnone")
    audit_id = watch.headers["audit-id"]
    assert audit.of(audit_id, "ResponseStarted")["verb"] == "watch"
    alice.close()
    audit.of(audit_id, "ResponseComplete", within=2)
    assert [event["auditID"] for event in audit.events("ResponseStarted")] == [audit_id]
