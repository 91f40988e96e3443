"""Changing things through `/k8s`, with CSRF proof, each change sent once (spec 02, 03)."""

import json
import uuid
from typing import Any

import httpx

from tests.e2e.harness.answers import INTERRUPTION, assert_passed, assert_refused_by_kubernetes
from tests.e2e.harness.browser import Browser, Upload
from tests.e2e.harness.cluster import CORE, QUIZ, Cluster
from tests.e2e.harness.waiting import wait_for

CONFIGMAPS = f"/k8s{CORE}/configmaps"


def config_map(name: str, **data: str) -> bytes:
    return json.dumps(
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}
    ).encode()


def fresh_name() -> str:
    return f"e2e-{uuid.uuid4().hex[:12]}"


def created(browser: Browser, name: str, **data: str) -> dict[str, Any]:
    answer = browser.change("POST", CONFIGMAPS, config_map(name, **data))
    assert_passed(answer, 201)
    body: dict[str, Any] = answer.json()
    return body


def refused_beside_an_upload(browser: Browser) -> tuple[Upload, httpx.Response]:
    """An upload that holds the one place this browser's person has, and what somebody beside it is told.

    A GET that overtakes the upload has the place itself, and it is the upload that is refused: of which
    httpx hears only once the content has ended. Then another one is begun.
    """

    def begin() -> tuple[Upload, httpx.Response] | None:
        upload = browser.upload("POST", CONFIGMAPS)
        for _ in range(8):
            answer = browser.get(CONFIGMAPS)
            if answer.status_code == 429:
                return upload, answer
        assert upload.finish().status_code == 429
        return None

    return wait_for("an upload that has a place", begin)


def answered(browser: Browser, target: str, status: int) -> httpx.Response:
    """The first answer of this status: the API server takes a moment to count a request in and out."""

    def ask() -> httpx.Response | None:
        answer = browser.get(target)
        return answer if answer.status_code == status else None

    return wait_for(f"a {status} of {target}", ask)


def test_create_patch_and_delete_take_effect_once_each(alice: Browser, cluster: Cluster) -> None:
    name, audit = fresh_name(), cluster.audit()
    created(alice, name, colour="red")
    assert cluster.get(f"{CORE}/configmaps/{name}")["data"] == {"colour": "red"}

    merge = "application/merge-patch+json"
    patched = alice.change(
        "PATCH", f"{CONFIGMAPS}/{name}", b'{"data":{"colour":"green"}}', content_type=merge
    )
    assert_passed(patched)
    operations = b'[{"op":"add","path":"/data/size","value":"1"}]'
    patched = alice.change(
        "PATCH", f"{CONFIGMAPS}/{name}", operations, content_type="application/json-patch+json"
    )
    assert_passed(patched)
    strategic = "application/strategic-merge-patch+json"
    patched = alice.change("PATCH", f"{CONFIGMAPS}/{name}", b'{"data":{"size":"2"}}', content_type=strategic)
    assert_passed(patched)
    assert cluster.get(f"{CORE}/configmaps/{name}")["data"] == {"colour": "green", "size": "2"}

    deleted = alice.change("DELETE", f"{CONFIGMAPS}/{name}")
    assert_passed(deleted)
    assert cluster.admin.get(f"{CORE}/configmaps/{name}").status_code == 404

    audit.of(deleted.headers["audit-id"])
    changes = [
        e["verb"]
        for e in audit.events()
        if e["user"]["username"] == "alice@example.com" and e["verb"] != "get"
    ]
    assert changes == ["create", "patch", "patch", "patch", "delete"]


def test_server_side_apply_creates_updates_and_tells_a_conflict(alice: Browser) -> None:
    name = fresh_name()
    target = f"{CONFIGMAPS}/{name}?fieldManager=e2e"

    def apply(manager: str, colour: str) -> httpx.Response:
        manifest = (
            f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\ndata: {{colour: {colour}}}\n"
        )
        return alice.change(
            "PATCH",
            f"{CONFIGMAPS}/{name}?fieldManager={manager}",
            manifest.encode(),
            content_type="application/apply-patch+yaml",
        )

    assert_passed(apply("e2e", "red"), 201)
    updated = apply("e2e", "green")
    assert_passed(updated)
    (managed,) = updated.json()["metadata"]["managedFields"]
    assert (managed["manager"], managed["operation"]) == ("e2e", "Apply")
    status = assert_refused_by_kubernetes(apply("another", "blue"), 409, "Conflict")
    assert status["details"]["causes"][0]["field"] == ".data.colour"
    assert_passed(alice.change("DELETE", target.partition("?")[0]))


def test_a_status_subresource_is_changed_apart(alice: Browser, cluster: Cluster) -> None:
    patch = b'{"spec":{"quiz":"not this way"},"status":{"phase":"Graded","score":9}}'
    target = f"/k8s{QUIZ}/submission-3/status"
    answer = alice.change("PATCH", target, patch, content_type="application/merge-patch+json")
    assert_passed(answer)
    stored = cluster.get(f"{QUIZ}/submission-3")
    assert (stored["status"]["score"], stored["spec"]["quiz"]) == (9, "kubernetes-101")


def test_a_stale_update_is_the_api_servers_409(alice: Browser, cluster: Cluster) -> None:
    read = alice.get(f"{CONFIGMAPS}/settings-5").json()
    cluster.set_data("settings-5", elsewhere=uuid.uuid4().hex)
    read["data"]["colour"] = "lost"
    answer = alice.change("PUT", f"{CONFIGMAPS}/settings-5", json.dumps(read).encode())
    assert_refused_by_kubernetes(answer, 409, "Conflict")
    assert cluster.get(f"{CORE}/configmaps/settings-5")["data"]["colour"] == "blue"


def test_creating_what_exists_is_the_api_servers_409(alice: Browser) -> None:
    answer = alice.change("POST", CONFIGMAPS, config_map("settings-1"))
    assert_refused_by_kubernetes(answer, 409, "AlreadyExists")


def test_an_invalid_object_is_the_api_servers_422(alice: Browser) -> None:
    answer = alice.change("POST", CONFIGMAPS, config_map("Not_A_Name"))
    assert_refused_by_kubernetes(answer, 422, "Invalid")


def test_a_reader_may_not_change(bob: Browser) -> None:
    answer = bob.change("DELETE", f"{CONFIGMAPS}/settings-1")
    status = assert_refused_by_kubernetes(answer, 403, "Forbidden")
    assert "bob@example.com" in status["message"]


def test_a_warning_of_the_api_servers_reaches_the_page(alice: Browser) -> None:
    quiz = {
        "apiVersion": "examples.foyer.dev/v1",
        "kind": "QuizSubmission",
        "metadata": {"name": fresh_name()},
        "spec": {"quiz": "q", "unheardOf": 1},
    }
    answer = alice.change("POST", f"/k8s{QUIZ}?fieldValidation=Warn&dryRun=All", json.dumps(quiz).encode())
    assert_passed(answer, 201)
    assert answer.headers["warning"] == r'299 - "unknown field \"spec.unheardOf\""'


def test_a_change_is_proved_by_sec_fetch_site_where_the_browser_sends_no_origin(alice: Browser) -> None:
    fields = {**alice.proof(), "content-type": "application/json", "sec-fetch-site": "same-origin"}
    del fields["origin"]
    answer = alice.request("POST", f"{CONFIGMAPS}?dryRun=All", fields, config_map(fresh_name()))
    assert_passed(answer, 201)


def test_a_large_object_goes_up_whole(alice: Browser, cluster: Cluster) -> None:
    name, filler = fresh_name(), "0123456789abcde\n" * 56_000
    created(alice, name, filler=filler)
    assert cluster.get(f"{CORE}/configmaps/{name}")["data"]["filler"] == filler
    assert_passed(alice.change("DELETE", f"{CONFIGMAPS}/{name}"))


def test_content_is_streamed_up_as_it_comes(alice: Browser, cluster: Cluster) -> None:
    name = fresh_name()
    document = config_map(name, colour="slow")
    upload = alice.upload("POST", CONFIGMAPS)
    for i in range(0, len(document), 7):
        upload.send(document[i : i + 7])
    assert_passed(upload.finish(), 201)
    assert cluster.get(f"{CORE}/configmaps/{name}")["data"] == {"colour": "slow"}
    assert_passed(alice.change("DELETE", f"{CONFIGMAPS}/{name}"))


def test_what_priority_and_fairness_refuses_is_its_own_429_and_no_interruption(
    eve: Browser, cluster: Cluster
) -> None:
    """Her group may have one request at a time: a creation whose content does not come."""
    name = fresh_name()
    upload, answer = refused_beside_an_upload(eve)
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"
    assert answer.headers["retry-after"].isdigit()
    assert INTERRUPTION not in answer.headers
    assert_passed(answer, 429)
    assert "Too many requests" in answer.text

    upload.send(config_map(name))
    assert_passed(upload.finish(), 201)
    assert_passed(answered(eve, f"{CONFIGMAPS}/{name}", 200))
    assert cluster.admin.delete(f"{CORE}/configmaps/{name}").status_code == 200
