"""Unsupported subresources are found where the API server reads one, and nowhere else."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foyer.k8s.subresource import unsupported


@pytest.mark.parametrize(
    ("path", "name"),
    [
        (b"/api/v1/namespaces/a/pods/p/exec", "exec"),
        (b"/api/v1/namespaces/a/pods/p/attach", "attach"),
        (b"/api/v1/namespaces/a/pods/p/portforward", "portforward"),
        (b"/api/v1/namespaces/a/pods/p/proxy", "proxy"),
        (b"/api/v1/namespaces/a/pods/p/proxy/metrics/x", "proxy"),
        (b"/api/v1/namespaces/a/services/https:web:443/proxy/index.html", "proxy"),
        (b"/api/v1/namespaces/exec/pods/exec/exec", "exec"),
        (b"/api/v1/nodes/n/proxy", "proxy"),
        (b"/api/v1/nodes/n/proxy/exec/a/b/c", "proxy"),
        (b"/api/v1/pods/p/exec", "exec"),
        (b"/api/v1/watch/namespaces/a/pods/p/exec", "exec"),
        (b"/api/v1/watch/nodes/n/proxy", "proxy"),
        (b"/api/v1/proxy/nodes/n", "proxy"),
        (b"/api/v1/proxy/nodes/n/metrics", "proxy"),
        (b"/api/v1/proxy/namespaces/a/pods/p", "proxy"),
        (b"/api/v1/proxy/namespaces/a/services/s/path", "proxy"),
        (b"/apis/example.com/v1/proxy/things/t", "proxy"),
        (b"/apis/example.com/v1/things/t/proxy", "proxy"),
        (b"/apis/example.com/v1/namespaces/a/things/t/exec", "exec"),
        (b"/apis/example.com/v1/watch/namespaces/a/things/t/attach", "attach"),
        (b"/apis/example.com/v1/namespaces/a/things/t/portforward/x", "portforward"),
    ],
)
def test_an_unsupported_subresource_is_found(path: bytes, name: str) -> None:
    assert unsupported(path) == name


@pytest.mark.parametrize(
    "path",
    [
        b"/api",
        b"/api/v1",
        b"/api/proxy",
        b"/api/v1/proxy",  # the old verb, of nothing: the API server itself cannot read it
        b"/api/v1/exec",
        b"/api/v1/watch/proxy",
        b"/api/exec/pods",
        b"/api/v1/namespaces/exec",
        b"/api/v1/namespaces/exec/pods",
        b"/api/v1/namespaces/proxy/status",
        b"/api/v1/namespaces/a/status/exec",  # read as the status of namespace a
        b"/api/v1/namespaces/a/finalize/proxy",
        b"/api/v1/namespaces/a/configmaps/proxy",
        b"/api/v1/namespaces/a/exec/attach",  # a resource called exec, an object called attach
        b"/api/v1/namespaces/a/proxy",
        b"/api/v1/namespaces/a/pods/exec",
        b"/api/v1/namespaces/a/pods/exec/log",
        b"/api/v1/namespaces/a/pods/p/log/exec",
        b"/api/v1/namespaces/a/pods/p/executor",
        b"/api/v1/namespaces/a/pods/p/Exec",
        b"/api/v1/namespaces/a/pods/p/exec;x",
        b"/api/v1/namespaces/a/pods/p/%2565xec",
        b"/api/v1/watch/namespaces/exec/pods",
        b"/apis/proxy/exec/attach",
        b"/apis/proxy/v1/things",
        b"/apis/example.com/proxy/things/t",
        b"/apis/example.com/v1/namespaces/a/things/proxy",
        b"/openapi/v3/apis/example.com/exec",
        b"/openapi/a/b/c/d/exec",
        b"/version",
    ],
)
def test_the_word_elsewhere_is_a_name_like_any_other(path: bytes) -> None:
    assert unsupported(path) is None


WORDS = ["exec", "attach", "portforward", "proxy"]
NAMES = st.sampled_from([*WORDS, "watch", "namespaces", "status", "a", "executor"])
PLAIN = NAMES.filter(lambda name: name not in ("namespaces", "watch", "proxy"))


@given(
    prefix=st.one_of(
        NAMES.map(lambda version: f"/api/{version}"),
        st.tuples(NAMES, NAMES).map(lambda pair: f"/apis/{pair[0]}/{pair[1]}"),
    ),
    watch=st.booleans(),
    namespace=st.none() | NAMES,
    resource=PLAIN.filter(lambda name: name != "status"),
    name=NAMES,
    subresource=st.none() | NAMES,
    rest=st.lists(NAMES, max_size=2),
)
def test_a_path_built_from_its_parts_is_judged_by_its_subresource_alone(
    prefix: str,
    watch: bool,
    namespace: str | None,
    resource: str,
    name: str,
    subresource: str | None,
    rest: list[str],
) -> None:
    path = prefix + ("/watch" if watch else "")
    path += f"/namespaces/{namespace}" if namespace else ""
    path += f"/{resource}/{name}"
    if subresource is not None:
        path += "/".join(["", subresource, *rest])
    assert unsupported(path.encode()) == (subresource if subresource in WORDS else None)
