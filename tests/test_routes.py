"""Everything the request line decides, in the spec's order."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foyer.front.routes import Matched, Route, find, named
from foyer.interruption import Interruption, Reason
from foyer.protocol.events import Field, RequestHead


def decided(
    target: bytes, method: bytes = b"GET", *fields: Field, protocol: bytes = b""
) -> Matched | Interruption:
    return find(RequestHead(method, target, list(fields), authority=b"evil", protocol=protocol))


def refused(
    target: bytes, method: bytes = b"GET", *fields: Field, protocol: bytes = b""
) -> tuple[Reason, str | None]:
    interruption = decided(target, method, *fields, protocol=protocol)
    assert isinstance(interruption, Interruption)
    return interruption.reason, interruption.allow


FIXED = {
    b"/": Route.START,
    b"/auth/login": Route.LOGIN,
    b"/auth/callback": Route.CALLBACK,
    b"/auth/session": Route.SESSION,
    b"/auth/whoami": Route.WHOAMI,
    b"/auth/check": Route.CHECK,
    b"/auth/logged-out": Route.LOGGED_OUT,
    b"/_foyer/access": Route.ACCESS,
    b"/healthz": Route.HEALTHZ,
    b"/readyz": Route.READYZ,
    b"/_foyer/style.css": Route.ASSET,
    b"/_foyer/mark.svg": Route.ASSET,
}


@pytest.mark.parametrize(("path", "route"), FIXED.items())
@pytest.mark.parametrize("method", [b"GET", b"HEAD"])
def test_a_route_answers_get_and_head(path: bytes, route: Route, method: bytes) -> None:
    assert decided(path, method) == (route, path, b"", b"")
    assert decided(path + b"?a=%2F&b", method) == (route, path, b"a=%2F&b", b"")


@pytest.mark.parametrize("path", FIXED)
@pytest.mark.parametrize(
    "method", [b"POST", b"PUT", b"PATCH", b"DELETE", b"OPTIONS", b"TRACE", b"get", b"QUERY"]
)
def test_another_method_is_not_allowed(path: bytes, method: bytes) -> None:
    assert refused(path, method) == (Reason.METHOD_NOT_ALLOWED, "GET, HEAD")


def test_a_stream_is_a_get_and_nothing_else() -> None:
    assert decided(b"/stream/v1?a=b") == (Route.STREAM, b"/stream/v1", b"a=b", b"")
    for method in (b"HEAD", b"POST", b"get"):
        assert refused(b"/stream/v1", method) == (Reason.METHOD_NOT_ALLOWED, "GET")
    for path in (b"/stream", b"/stream/", b"/stream/v1/", b"/stream/v2"):
        assert refused(path) == (Reason.NOT_FOUND, None)


def test_the_dependencies_are_a_route_of_their_own() -> None:
    assert decided(b"/_foyer/dependencies") == (Route.DEPENDENCIES, b"/_foyer/dependencies", b"", b"")
    assert refused(b"/_foyer/dependencies", b"POST") == (Reason.METHOD_NOT_ALLOWED, "GET, HEAD")
    assert refused(b"/_foyer/dependencies/") == (Reason.NOT_FOUND, None)


def test_logout_is_a_post() -> None:
    assert decided(b"/auth/logout", b"POST") == (Route.LOGOUT, b"/auth/logout", b"", b"")
    for method in (b"GET", b"HEAD", b"PUT", b"post"):
        assert refused(b"/auth/logout", method) == (Reason.METHOD_NOT_ALLOWED, "POST")


@pytest.mark.parametrize(
    "target",
    [
        b"/k8s/api",
        b"/k8s/api/v1",
        b"/k8s/api/v1/namespaces/a/pods?watch=1&labelSelector=a%3Db",
        b"/k8s/api/v1/secrets",
        b"/k8s/apis",
        b"/k8s/apis/apps/v1/deployments",
        b"/k8s/version",
        b"/k8s/version?timeout=32s",
        b"/k8s/openapi/v2",
        b"/k8s/openapi/v3/apis/apps/v1?hash=A",
        b"/k8s/api/v1/namespaces/a/configmaps/proxy",
        b"/k8s/api?",
        b"/k8s/api?a?b",
        b'/k8s/api?/../%2F//&x=[]{}|\\^`"<>%zz',
    ],
)
@pytest.mark.parametrize(
    "method", [b"GET", b"HEAD", b"POST", b"PUT", b"PATCH", b"DELETE", b"OPTIONS", b"get"]
)
def test_the_kubernetes_api_takes_any_method_and_the_target_goes_up_as_it_is(
    target: bytes, method: bytes
) -> None:
    path, _, query = target.partition(b"?")
    assert decided(target, method) == (Route.K8S, path, query, target.removeprefix(b"/k8s"))


@pytest.mark.parametrize(
    "target",
    [
        b"/k8s",
        b"/k8s?a",
        b"/k8s/healthz",
        b"/k8s/metrics",
        b"/k8s/version/x",
        b"/k8s/openapi",
        b"/k8s/apix",
        b"/k8s/apisx/a",
        b"/k8s/Api",
        b"/k8s/k8s/api",
        b"/k8sapi",
        b"/K8S/api",
        b"/%6B8s/api",
        b"//k8s/api",
        b"/./k8s/api",
        b"/auth",
        b"/auth/",
        b"/auth/login/",
        b"/auth/LOGIN",
        b"/auth/login;a",
        b"/auth//login",
        b"/auth/%6Cogin",
        b"/_foyer",
        b"/_foyer/",
        b"/_foyer/style.css/",
        b"/_foyer/../routes.py",
        b"/_foyer/base.html",
        b"/metrics",
        b"/favicon.ico",
        b"//",
        b"/\\evil",
        b"/\xc3\xa9",
    ],
)
@pytest.mark.parametrize("method", [b"GET", b"POST"])
def test_nothing_else_is_a_route_whatever_the_method(target: bytes, method: bytes) -> None:
    assert refused(target, method) == (Reason.NOT_FOUND, None)


@pytest.mark.parametrize(
    "target",
    [
        b"/k8s/",
        b"/k8s//api",
        b"/k8s/api/",
        b"/k8s/../healthz",
        b"/k8s/healthz/",
        b"/k8s/api/v1/namespaces/a%2Fb",
        b"/k8s/api/v1/namespaces/%2e%2e",
        b"/k8s/api/v1/namespaces/a/pods/p/%65xec",
        b"/k8s/api/v1/a b",
        b"/k8s/api/v1#x",
        b"/k8s/api/v1\xff",
        b"/#",
        b"/auth/login#a?b",
        b"*",
        b"",
        b"k8s/api",
        b"https://evil/k8s/api",
        b"?a",
    ],
)
def test_a_path_that_is_not_canonical_is_refused(target: bytes) -> None:
    assert refused(target) == (Reason.NON_CANONICAL_PATH, None)


@pytest.mark.parametrize("path", [b"/k8s/api/v1", b"/auth/login"])
@pytest.mark.parametrize("octet", [b"#", b" ", b"\t", b"\n", b"\r", b"\x00", b"\x7f", b"\x80", b"\xff"])
def test_a_query_that_could_break_a_request_line_is_refused(path: bytes, octet: bytes) -> None:
    assert refused(path + b"?a" + octet + b"b") == (Reason.BAD_REQUEST, None)


@pytest.mark.parametrize(
    "target",
    [
        b"/k8s/api/v1/namespaces/a/pods/p/exec?command=sh",
        b"/k8s/api/v1/namespaces/a/pods/p/attach",
        b"/k8s/api/v1/namespaces/a/pods/p/portforward",
        b"/k8s/api/v1/namespaces/a/services/s/proxy/index.html",
        b"/k8s/api/v1/proxy/nodes/n",
        b"/k8s/api/v1/watch/namespaces/a/pods/p/exec",
    ],
)
@pytest.mark.parametrize("method", [b"GET", b"POST", b"HEAD"])
def test_an_unsupported_subresource_is_said_to_be_one(target: bytes, method: bytes) -> None:
    assert refused(target, method) == (Reason.UNSUPPORTED_SUBRESOURCE, None)


EVERYWHERE = [b"/", b"/k8s/api/v1", b"/k8s//", b"/auth/logout", b"/healthz", b"/nothing", b"*", b"/k8s/api?#"]


@pytest.mark.parametrize("target", EVERYWHERE)
@pytest.mark.parametrize("value", [b"websocket", b"h2c", b"SPDY/3.1", b"TLS/1.0", b""])
def test_an_upgrade_is_refused_on_any_path_before_anything_else(target: bytes, value: bytes) -> None:
    upgrade = (b"upgrade", value)
    assert refused(target, b"GET", upgrade) == (Reason.UNSUPPORTED_PROTOCOL, None)
    assert refused(target, b"BREW", (b"accept", b"*/*"), upgrade) == (Reason.UNSUPPORTED_PROTOCOL, None)


@pytest.mark.parametrize("target", [*EVERYWHERE, b"evil.example:443", b""])
def test_connect_is_refused_on_any_target_before_anything_else(target: bytes) -> None:
    assert refused(target, b"CONNECT") == (Reason.UNSUPPORTED_PROTOCOL, None)
    assert refused(target, b"CONNECT", protocol=b"websocket") == (Reason.UNSUPPORTED_PROTOCOL, None)


@pytest.mark.parametrize(
    "field",
    [
        (b"x-forwarded-uri", b"/healthz"),
        (b"x-original-url", b"/healthz"),
        (b"x-rewrite-url", b"/healthz"),
        (b"x-forwarded-method", b"GET"),
        (b"x-http-method-override", b"GET"),
        (b"forwarded", b"host=evil"),
        (b"host", b"evil"),
        (b"connection", b"upgrade"),
        (b"x-upgrade", b"websocket"),
    ],
)
def test_no_field_chooses_the_route_or_the_method(field: Field) -> None:
    target = b"/k8s/api/v1/secrets"
    assert decided(target, b"POST", field) == (Route.K8S, target, b"", b"/api/v1/secrets")
    assert refused(b"/auth/session", b"POST", field) == (Reason.METHOD_NOT_ALLOWED, "GET, HEAD")


@pytest.mark.parametrize(
    ("target", "route"),
    [
        (b"/auth/login?x#y", "/auth/login"),
        (b"/k8s/api/v1/namespaces/a/pods/b/exec", "/k8s"),
        (b"/k8s//x", "/k8s"),
        (b"/k8s", None),
        (b"/nope", None),
        (b"*", None),
    ],
)
def test_a_refused_request_is_logged_under_the_route_of_its_path(target: bytes, route: str | None) -> None:
    assert named(RequestHead(b"DELETE", target, [])) == route


def test_route_and_method_are_judged_before_the_query() -> None:
    for target, method, reason in (
        (b"/nope?x#y", b"GET", Reason.NOT_FOUND),
        (b"/auth/login?x#y", b"DELETE", Reason.METHOD_NOT_ALLOWED),
        (b"/auth/login?x#y", b"GET", Reason.BAD_REQUEST),
    ):
        found = decided(target, method)
        assert isinstance(found, Interruption)
        assert found.reason is reason


SEGMENT = st.sampled_from(
    [b"api", b"apis", b"v1", b"pods", b"a%20b", b"%2F", b"..", b"", b"exec", b"a:b", b"%"]
)


@given(
    path=st.lists(SEGMENT, max_size=7).map(lambda segments: b"/k8s/" + b"/".join(segments)),
    query=st.none() | st.binary(max_size=8),
)
def test_an_accepted_target_goes_up_byte_for_byte(path: bytes, query: bytes | None) -> None:
    target = path if query is None else path + b"?" + query
    result = decided(target)
    if isinstance(result, Matched):
        assert b"/k8s" + result.upstream_target == target
        assert (result.path, result.query) == (path, query or b"")


@given(st.binary(max_size=12), st.sampled_from([b"GET", b"POST", b"CONNECT"]))
def test_any_target_has_an_answer(target: bytes, method: bytes) -> None:
    for prefix in (b"", b"/", b"/k8s/"):
        assert isinstance(decided(prefix + target, method), Matched | Interruption)


# A target by its name


@pytest.mark.parametrize("method", [b"GET", b"POST", b"DELETE", b"WHATEVER"])
def test_a_path_behind_a_targets_name_is_that_targets(method: bytes) -> None:
    path = b"/targets/eu-1/k8s/api/v1/pods"
    matched = decided(path + b"?limit=5", method)
    assert isinstance(matched, Matched)
    assert matched == (Route.TARGETS, path, b"limit=5", b"/api/v1/pods?limit=5")
    assert matched.named_target == "eu-1"


def test_nothing_else_names_a_target() -> None:
    for target in (b"/k8s/api", b"/stream/v1?target=eu", b"/auth/whoami?target=eu"):
        matched = decided(target)
        assert isinstance(matched, Matched) and matched.named_target == ""


@pytest.mark.parametrize(
    "api", [b"/api", b"/api/v1", b"/apis", b"/apis/apps/v1", b"/version", b"/openapi/v3"]
)
def test_what_k8s_carries_is_carried_behind_a_name_and_nothing_else(api: bytes) -> None:
    assert isinstance(decided(b"/targets/a/k8s" + api), Matched)
    for path in (
        b"/targets/a" + api,
        b"/targets/k8s" + api,
        b"/targets/a/b/k8s" + api,
        b"/targets/a/k8sx" + api,
    ):
        assert refused(path) == (Reason.NOT_FOUND, None)


@pytest.mark.parametrize(
    "path",
    [b"/targets", b"/targets/a", b"/targets/a/k8s", b"/targets/a/k8s/healthz", b"/targets/k8s/api/k8s"],
)
def test_a_path_that_is_no_targets_is_not_found(path: bytes) -> None:
    assert refused(path) == (Reason.NOT_FOUND, None)


def test_behind_a_name_the_rules_of_paths_are_those_of_k8s() -> None:
    for path in (
        b"//k8s/api",
        b"/a//k8s/api",
        b"/../k8s/api",
        b"/a/k8s/../api",
        b"/%61/k8s/api",
        b"/a/k8s/api/",
    ):
        assert refused(b"/targets" + path) == (Reason.NON_CANONICAL_PATH, None)
    exec_ = b"/targets/a/k8s/api/v1/namespaces/n/pods/p/exec"
    assert refused(exec_) == (Reason.UNSUPPORTED_SUBRESOURCE, None)
    assert refused(b"/targets/a/k8s/api/v1/pods?a b") == (Reason.BAD_REQUEST, None)


@given(st.binary(max_size=40))
def test_whatever_is_behind_targets_has_a_name_or_no_route(rest: bytes) -> None:
    found = decided(b"/targets/" + rest)
    if isinstance(found, Matched):
        assert found.route is Route.TARGETS
        assert found.path == b"/targets/%b/k8s%b" % (
            found.named_target.encode("ascii"),
            found.upstream_target.partition(b"?")[0],
        )


def test_a_refused_target_is_logged_by_its_route() -> None:
    assert named(RequestHead(b"GET", b"/targets/a/k8s/healthz?x", [])) == "/targets"


# Fleet reads


@pytest.mark.parametrize("method", [b"GET", b"HEAD"])
@pytest.mark.parametrize(
    "path",
    [
        b"/api",
        b"/apis",
        b"/api/v1/pods",
        b"/apis/apps/v1/namespaces/a/deployments",
        b"/api/v1/namespaces/a/configmaps/proxy",
    ],
)
def test_a_fleet_read_is_of_a_path_of_the_api_and_its_query_stays_here(path: bytes, method: bytes) -> None:
    target = b"/fleet/v1" + path
    assert decided(target + b"?limit=5&a=%2F", method) == (Route.FLEET, target, b"limit=5&a=%2F", path)


@pytest.mark.parametrize(
    ("target", "method", "expected"),
    [
        (b"/fleet/v1", b"GET", (Reason.NOT_FOUND, None)),
        (b"/fleet/v1/version", b"GET", (Reason.NOT_FOUND, None)),
        (b"/fleet/v1/openapi/v2", b"POST", (Reason.NOT_FOUND, None)),
        (b"/fleet/v1/k8s/api", b"GET", (Reason.NOT_FOUND, None)),
        (b"/fleet/v1/apix", b"GET", (Reason.NOT_FOUND, None)),
        (b"/fleet/v2/api", b"GET", (Reason.NOT_FOUND, None)),
        (b"/fleet/v1/", b"POST", (Reason.NON_CANONICAL_PATH, None)),
        (b"/fleet/v1//api", b"GET", (Reason.NON_CANONICAL_PATH, None)),
        (b"/fleet/v1/api/../apis", b"GET", (Reason.NON_CANONICAL_PATH, None)),
        (b"/fleet/v1/api/v1/%70ods", b"GET", (Reason.NON_CANONICAL_PATH, None)),
        (b"/fleet/v1/api/v1/a%2Fb", b"GET", (Reason.NON_CANONICAL_PATH, None)),
        (b"/fleet/v1/api/v1/pods", b"POST", (Reason.METHOD_NOT_ALLOWED, "GET, HEAD")),
        (b"/fleet/v1/api/v1/pods?#", b"DELETE", (Reason.METHOD_NOT_ALLOWED, "GET, HEAD")),
        (b"/fleet/v1/api/v1/pods?#", b"GET", (Reason.BAD_REQUEST, None)),
        (b"/fleet/v1/api/v1/namespaces/a/pods/p/exec", b"GET", (Reason.UNSUPPORTED_SUBRESOURCE, None)),
        (b"/fleet/v1/api/v1/namespaces/a/pods/p/exec", b"POST", (Reason.METHOD_NOT_ALLOWED, "GET, HEAD")),
        (b"/fleet/v1/api/v1/proxy/nodes/n", b"HEAD", (Reason.UNSUPPORTED_SUBRESOURCE, None)),
    ],
)
def test_a_fleet_read_is_held_to_the_rules_of_a_path(
    target: bytes, method: bytes, expected: tuple[Reason, str | None]
) -> None:
    assert refused(target, method) == expected
    assert named(RequestHead(method, target, [])) == (
        "/fleet/v1" if target.startswith(b"/fleet/v1/") else None
    )


@given(path=st.lists(SEGMENT, max_size=7).map(lambda segments: b"/fleet/v1/" + b"/".join(segments)))
def test_an_accepted_path_is_asked_of_a_fleet_byte_for_byte(path: bytes) -> None:
    result = decided(path)
    if isinstance(result, Matched):
        assert b"/fleet/v1" + result.upstream_target == path
