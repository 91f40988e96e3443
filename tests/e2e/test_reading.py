"""Reading through `/k8s`: what the API server answers, in every form it has, decoded (spec 03)."""

import httpx
import pytest

from tests.e2e.harness.answers import assert_interrupted, assert_passed, assert_refused_by_kubernetes
from tests.e2e.harness.browser import Browser
from tests.e2e.harness.cluster import CORE, QUIZ, Cluster

LARGE = "/api/v1/namespaces/large/configmaps"


def content_type(answer: httpx.Response) -> str:
    return str(answer.headers["content-type"])


def test_a_list_is_the_api_servers_byte_for_byte(alice: Browser, cluster: Cluster) -> None:
    answer = alice.get(f"/k8s{QUIZ}")
    assert_passed(answer)
    assert content_type(answer) == "application/json"
    direct = cluster.admin.get(QUIZ)
    assert answer.content == direct.content
    assert [item["spec"]["student"] for item in answer.json()["items"]] == ["ada", "grace", "edsger"]


def test_a_list_that_the_api_server_compresses_arrives_decoded_and_whole(
    alice: Browser, cluster: Cluster
) -> None:
    compressed = cluster.admin.get(LARGE, headers={"accept-encoding": "gzip"})
    assert compressed.headers["content-encoding"] == "gzip", "else this test shows nothing"
    answer = alice.get(f"/k8s{LARGE}", accept_encoding="br, zstd")
    assert_passed(answer)
    assert "content-encoding" not in answer.headers
    assert len(answer.content) > 700_000
    assert answer.content == compressed.content


def test_the_pages_of_a_list_add_up(alice: Browser) -> None:
    names: list[str] = []
    query = "limit=120"
    while query:
        page = alice.get(f"/k8s{LARGE}?{query}").json()
        names += [item["metadata"]["name"] for item in page["items"]]
        token = page["metadata"].get("continue")
        query = f"limit=120&continue={token}" if token else ""
    assert names == [f"large-{i:03}" for i in range(300)]


def test_a_reader_reads_and_a_stranger_does_not(bob: Browser, carol: Browser) -> None:
    assert_passed(bob.get(f"/k8s{CORE}/configmaps"))
    status = assert_refused_by_kubernetes(carol.get(f"/k8s{CORE}/configmaps"), 403, "Forbidden")
    assert "carol@example.com" in status["message"]


def test_a_reader_of_config_maps_is_denied_secrets_which_an_editor_may_read(
    alice: Browser, bob: Browser
) -> None:
    status = assert_refused_by_kubernetes(bob.get(f"/k8s{CORE}/secrets"), 403, "Forbidden")
    assert "bob@example.com" in status["message"]
    answer = alice.get(f"/k8s{CORE}/secrets/demo-secret")
    assert_passed(answer)
    assert answer.json()["kind"] == "Secret"


def test_what_is_not_there_is_the_api_servers_404(alice: Browser) -> None:
    assert_refused_by_kubernetes(alice.get(f"/k8s{CORE}/configmaps/no-such"), 404, "NotFound")


def test_discovery_answers_in_both_of_its_forms(carol: Browser) -> None:
    groups = carol.get("/k8s/apis")
    assert_passed(groups)
    assert "examples.foyer.dev" in [group["name"] for group in groups.json()["groups"]]
    assert carol.get("/k8s/api").json()["versions"] == ["v1"]
    resources = carol.get("/k8s/apis/examples.foyer.dev/v1").json()["resources"]
    assert "quizsubmissions" in [resource["name"] for resource in resources]
    assert carol.get("/k8s/version").json()["major"] == "1"

    wanted = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
    aggregated = carol.get("/k8s/apis", accept=wanted)
    assert_passed(aggregated)
    assert content_type(aggregated) == wanted
    assert aggregated.json()["kind"] == "APIGroupDiscoveryList"


def test_the_openapi_documents_arrive_whole(carol: Browser, cluster: Cluster) -> None:
    answer = carol.get("/k8s/openapi/v2")
    assert_passed(answer)
    assert len(answer.content) > 2_000_000
    assert answer.content == cluster.admin.get("/openapi/v2").content
    index = carol.get("/k8s/openapi/v3").json()
    path = index["paths"]["apis/examples.foyer.dev/v1"]["serverRelativeURL"]
    document = carol.get(f"/k8s{path}")
    assert_passed(document)
    assert "QuizSubmission" in document.text


def test_a_redirect_of_the_api_servers_is_held_back_and_names_its_target(carol: Browser) -> None:
    """kube-apiserver sends a browser with an outdated hash of an OpenAPI document to the present one."""
    status = assert_interrupted(carol.get("/k8s/openapi/v3/api/v1?hash=OUTDATED"), 502, "UpstreamRedirect")
    (cause,) = status["details"]["causes"]
    assert (cause["reason"], cause["field"]) == ("Redirect", "Location")
    assert "/openapi/v3/api/v1?hash=" in cause["message"]


def test_the_openapi_document_passes_as_protobuf(alice: Browser) -> None:
    answer = alice.get("/k8s/openapi/v2", accept="application/com.github.proto-openapi.spec.v2@v1.0+protobuf")
    assert_passed(answer)
    assert content_type(answer).startswith("application/com.github.proto-openapi.spec.v2")
    assert len(answer.content) > 100_000


def test_protobuf_is_passed_as_it_is(alice: Browser, cluster: Cluster) -> None:
    protobuf = "application/vnd.kubernetes.protobuf"
    answer = alice.get(f"/k8s{CORE}/configmaps/settings-2", accept=protobuf)
    assert_passed(answer)
    assert content_type(answer) == protobuf
    assert answer.content.startswith(b"k8s\0")
    assert (
        answer.content
        == cluster.admin.get(f"{CORE}/configmaps/settings-2", headers={"accept": protobuf}).content
    )


def test_yaml_is_passed_as_it_is(alice: Browser) -> None:
    answer = alice.get(f"/k8s{CORE}/configmaps/settings-2", accept="application/yaml")
    assert_passed(answer)
    assert content_type(answer) == "application/yaml"
    assert answer.text.startswith("apiVersion: v1\n")


def test_a_table_has_the_columns_of_the_resource(bob: Browser) -> None:
    answer = bob.get(f"/k8s{QUIZ}", accept="application/json;as=Table;v=v1;g=meta.k8s.io")
    assert_passed(answer)
    table = answer.json()
    assert table["kind"] == "Table"
    assert [column["name"] for column in table["columnDefinitions"]] == ["Name", "Quiz", "Phase"]
    assert [row["cells"][0] for row in table["rows"]] == ["submission-1", "submission-2", "submission-3"]


def test_a_metadata_only_list_has_no_specs(bob: Browser) -> None:
    answer = bob.get(f"/k8s{QUIZ}", accept="application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io")
    assert_passed(answer)
    assert answer.json()["kind"] == "PartialObjectMetadataList"
    assert {frozenset(item) for item in answer.json()["items"]} == {
        frozenset({"kind", "apiVersion", "metadata"})
    }


def test_a_form_that_the_api_server_does_not_have_is_its_406(alice: Browser) -> None:
    answer = alice.get(f"/k8s{CORE}/configmaps", accept="application/x-unheard-of")
    assert_refused_by_kubernetes(answer, 406, "NotAcceptable")


def test_head_is_forwarded_and_answered_without_content(alice: Browser) -> None:
    """kube-apiserver has no HEAD for resources: its 405, of a length whose bytes do not follow."""
    answer = alice.request("HEAD", f"/k8s{CORE}/configmaps")
    assert_passed(answer, 405)
    assert answer.content == b""
    assert_passed(alice.get(f"/k8s{CORE}/configmaps"))


@pytest.mark.parametrize("http_version", ["HTTP/2"])
def test_many_requests_at_once_share_one_connection(alice: Browser) -> None:
    answers = alice.all_at_once([f"/k8s{CORE}/configmaps/settings-{i % 5 + 1}" for i in range(60)])
    for i, answer in enumerate(answers):
        assert_passed(answer)
        assert answer.json()["metadata"]["name"] == f"settings-{i % 5 + 1}"
    assert len({answer.extensions["stream_id"] for answer in answers}) == 60
