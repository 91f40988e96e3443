"""Asking who one is, and what who may do."""

from typing import Any

import pytest

from tests.demo.fakes import CONFIG_MAPS, Cluster, Reply

WHO = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
MAY = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
RULES = "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews"
OTHERS = "/apis/authorization.k8s.io/v1/subjectaccessreviews"


def asked(cluster: Cluster, path: str, spec: Any, *, as_: str = "ada") -> Reply:
    return cluster.ask("POST", path, {"spec": spec}, as_=as_)


def resource(verb: str, plural: str, namespace: str = "demo", **more: str) -> dict[str, Any]:
    return {"resourceAttributes": {"verb": verb, "resource": plural, "namespace": namespace} | more}


def test_a_self_subject_review_says_who_asks(cluster: Cluster) -> None:
    reply = asked(cluster, WHO, {})
    assert reply.status == 201
    assert reply.json == {
        "kind": "SelfSubjectReview",
        "apiVersion": "authentication.k8s.io/v1",
        "metadata": {"creationTimestamp": "2027-01-15T08:00:00Z"},
        "status": {
            "userInfo": {
                "username": "ada@example.com",
                "uid": "id-ada",
                "groups": ["demo-editors", "system:authenticated"],
            }
        },
    }


def test_an_access_review_explains_why_and_never_why_not(cluster: Cluster) -> None:
    spec = resource("list", "secrets")
    allowed = asked(cluster, MAY, spec).json
    assert allowed["spec"] == {
        "resourceAttributes": {"namespace": "demo", "verb": "list", "resource": "secrets"}
    }
    assert allowed["status"] == {
        "allowed": True,
        "reason": 'RBAC: allowed by RoleBinding "demo-editor/demo" of ClusterRole "demo-editor" '
        'to Group "demo-editors"',
    }
    assert asked(cluster, MAY, spec, as_="bob").json["status"] == {"allowed": False}


@pytest.mark.parametrize(
    ("who", "spec", "allowed"),
    [
        ("ada", resource("create", "notes", group="example.com"), True),
        ("ada", resource("create", "notes", namespace="kube-system", group="example.com"), False),
        ("ada", resource("create", "notes"), False),
        ("ada", resource("patch", "notes", group="example.com", subresource="status"), True),
        ("bob", resource("watch", "configmaps", name="m"), True),
        ("bob", resource("delete", "configmaps"), False),
        ("bob", {"resourceAttributes": {}}, False),
        ("bob", {"nonResourceAttributes": {"path": "/apis/example.com", "verb": "get"}}, True),
        ("bob", {"nonResourceAttributes": {"path": "/metrics", "verb": "get"}}, False),
        ("admin", {"nonResourceAttributes": {"path": "/metrics", "verb": "get"}}, True),
        ("admin", resource("delete", "anything", namespace=""), True),
    ],
)
def test_an_access_review_decides_as_a_request_would_be(
    cluster: Cluster, who: str, spec: dict[str, Any], allowed: bool
) -> None:
    assert asked(cluster, MAY, spec, as_=who).json["status"]["allowed"] is allowed


def test_rules_are_what_holds_in_the_namespace(cluster: Cluster) -> None:
    status = asked(cluster, RULES, {"namespace": "demo"}, as_="bob").json["status"]
    assert status["incomplete"] is False
    notes = {
        "verbs": ["get", "list", "watch"],
        "apiGroups": ["example.com"],
        "resources": ["notes", "notes/status"],
    }
    assert notes in status["resourceRules"]
    assert status["nonResourceRules"][0]["nonResourceURLs"][0] == "/api"
    elsewhere = asked(cluster, RULES, {"namespace": "kube-system"}, as_="bob").json["status"]
    assert notes not in elsewhere["resourceRules"]
    everything = asked(cluster, RULES, {"namespace": "demo"}, as_="admin").json["status"]
    assert everything["resourceRules"] == [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}]


def test_asking_about_others_is_not_for_everybody(cluster: Cluster) -> None:
    spec = resource("list", "notes", group="example.com") | {
        "user": "bob@example.com",
        "groups": ["demo-readers"],
    }
    assert asked(cluster, OTHERS, spec).status == 403
    answer = asked(cluster, OTHERS, spec, as_="admin").json
    assert answer["status"]["allowed"] is True
    assert (answer["spec"]["user"], answer["spec"]["groups"]) == ("bob@example.com", ["demo-readers"])
    nobody = asked(cluster, OTHERS, spec | {"groups": []}, as_="admin").json
    assert nobody["status"] == {"allowed": False}


@pytest.mark.parametrize(
    ("path", "body", "status", "message"),
    [
        (MAY, {"spec": {}}, 422, "exactly one of nonResourceAttributes or resourceAttributes"),
        (
            MAY,
            {"spec": {"resourceAttributes": {}, "nonResourceAttributes": {}}},
            422,
            "exactly one of nonResourceAttributes",
        ),
        (MAY, {"spec": 5}, 400, "cannot unmarshal number"),
        (MAY, {"spec": {"resourceAttributes": 5}}, 400, "cannot unmarshal number"),
        (MAY, {"spec": {"resourceAttributes": {"verb": 5}}}, 400, "cannot unmarshal number"),
        (MAY, {"kind": "Zed", "spec": {}}, 400, 'no kind "Zed" is registered'),
        (MAY, [], 400, "cannot unmarshal array"),
        (RULES, {"spec": {}}, 400, "no namespace on request"),
        (
            OTHERS,
            {"spec": {"resourceAttributes": {}}},
            422,
            "at least one of user or group must be specified",
        ),
        (OTHERS, {"spec": {"resourceAttributes": {}, "groups": [5]}}, 400, "cannot unmarshal array"),
    ],
)
def test_a_review_that_asks_nothing_is_refused(
    cluster: Cluster, path: str, body: Any, status: int, message: str
) -> None:
    reply = cluster.ask("POST", path, body, as_="admin")
    assert reply.status == status
    assert message in reply.message


def test_a_review_leaves_nothing_behind(cluster: Cluster) -> None:
    version = cluster.store.version
    asked(cluster, WHO, {})
    asked(cluster, MAY, resource("list", "notes"))
    assert cluster.store.version == version
    assert cluster.ask("GET", CONFIG_MAPS).json["items"] == []
