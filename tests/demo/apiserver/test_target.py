"""What a method, path and query mean."""

import pytest

from foyer.demo.apiserver.target import Target, read_target

TARGETS = [
    ("GET", "/api/v1/pods", {}, ("list", "", "pods", "", "", "")),
    ("GET", "/api/v1/namespaces", {}, ("list", "", "namespaces", "", "", "")),
    ("GET", "/api/v1/namespaces/demo", {}, ("get", "", "namespaces", "demo", "demo", "")),
    ("PUT", "/api/v1/namespaces/demo/status", {}, ("update", "", "namespaces", "demo", "demo", "status")),
    ("GET", "/api/v1/namespaces/demo/pods", {}, ("list", "", "pods", "demo", "", "")),
    ("POST", "/apis/apps/v1/namespaces/demo/sets", {}, ("create", "apps", "sets", "demo", "", "")),
    ("HEAD", "/api/v1/namespaces/demo/pods/p", {}, ("get", "", "pods", "demo", "p", "")),
    ("PATCH", "/api/v1/namespaces/demo/pods/p/status", {}, ("patch", "", "pods", "demo", "p", "status")),
    ("DELETE", "/api/v1/namespaces/demo/pods/p", {}, ("delete", "", "pods", "demo", "p", "")),
    ("DELETE", "/api/v1/namespaces/demo/pods", {}, ("deletecollection", "", "pods", "demo", "", "")),
    ("GET", "/api/v1/pods", {"watch": "1"}, ("watch", "", "pods", "", "", "")),
    ("GET", "/api/v1/pods", {"watch": ""}, ("watch", "", "pods", "", "", "")),
    ("GET", "/api/v1/pods", {"watch": "maybe"}, ("watch", "", "pods", "", "", "")),
    ("GET", "/api/v1/pods", {"watch": "False"}, ("list", "", "pods", "", "", "")),
    ("GET", "/api/v1/pods", {"watch": "0"}, ("list", "", "pods", "", "", "")),
    ("GET", "/api/v1/namespaces/demo/pods/p", {"watch": "1"}, ("get", "", "pods", "demo", "p", "")),
    ("GET", "/api/v1/watch/pods", {}, ("watch", "", "pods", "", "", "")),
    ("GET", "/api/v1/watch/namespaces/demo/pods/p", {}, ("watch", "", "pods", "demo", "p", "")),
    ("POST", "/api/v1/watch/pods", {}, ("", "", "pods", "", "", "")),
    ("GET", "/api/v1/pods", {"fieldSelector": "a=b,metadata.name==p"}, ("list", "", "pods", "", "p", "")),
    ("GET", "/api/v1/pods", {"fieldSelector": "metadata.name!=p"}, ("list", "", "pods", "", "", "")),
    ("GET", "/api//v1/pods/", {}, ("list", "", "pods", "", "", "")),
    ("GET", "/api/v1/namespaces/d%65mo/pods", {}, ("list", "", "pods", "demo", "", "")),
    ("FROB", "/api/v1/pods", {}, ("", "", "pods", "", "", "")),
]


@pytest.mark.parametrize(("method", "path", "query", "expected"), TARGETS)
def test_a_resource_is_read_as_kubernetes_reads_it(
    method: str, path: str, query: dict[str, str], expected: tuple[str, ...]
) -> None:
    target = read_target(method, path, query)
    found = (target.verb, target.group, target.resource, target.namespace, target.name, target.subresource)
    assert found == expected
    assert target.is_resource and not target.extra


@pytest.mark.parametrize("path", ["/", "/api", "/api/v1", "/apis", "/apis/apps", "/apis/apps/v1", "/version"])
def test_what_is_no_resource_is_a_path(path: str) -> None:
    assert read_target("GET", path, {}) == Target(path, "get")


def test_segments_past_a_subresource_are_no_resources() -> None:
    assert read_target("GET", "/api/v1/namespaces/demo/pods/p/proxy/x", {}).extra
