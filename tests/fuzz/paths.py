"""What a request line decides, against the readers behind foyer: Go's, and the API server's own.

A target that goes up is the received one less `/k8s`, byte for byte. Its path is canonical: Go decodes
it to the segments that stand there, finds nothing to clean, and no other spelling of a segment passes.
And the API server's request resolver reads no subresource in it that foyer does not carry, while one
that was refused for such a subresource does have it.
"""

import posixpath
from urllib.parse import unquote_to_bytes

from foyer.front.routes import Matched, Route, find, find_without_sign_in, named
from foyer.interruption import Interruption, Reason
from foyer.protocol import path as canonical
from foyer.protocol.events import RequestHead
from tests.fuzz.target import Target

UNSUPPORTED = {b"exec", b"attach", b"portforward", b"proxy"}

SEEDS = (
    b"/k8s/api/v1/namespaces/a/pods?watch=true&limit=5",
    b"/k8s/apis/rbac.authorization.k8s.io/v1/clusterroles/system:discovery",
    b"/k8s/api/v1/namespaces/a/pods/p/exec?command=sh",
    b"/k8s/api/v1/watch/namespaces/a/services/https:web:443/proxy/index.html",
    b"/k8s/api/v1/namespaces/exec/status/exec",
    b"/k8s/apis/example.com/v1/namespaces/a/finalize/b/proxy/c",
    b"/k8s/apis/example.com/v1/things/a%20b%C3%A9%252F%00",
    b"/k8s/api/v1/../../%2E%2e//a%2Fb/%65xec;a",
    b"/k8s/openapi/v3",
    b"/auth/login?return_to=/a",
    b"/auth/check?redirect=true&identity=true",
    b"/_foyer/access?namespace=a",
    b"https://f/k8s/api",
    b"*",
)

WORDS = (
    b"/k8s/api/v1/",
    b"/k8s/apis/",
    b"/namespaces/",
    b"/watch/",
    b"/proxy/",
    b"/exec",
    b"/attach",
    b"/portforward",
    b"/status",
    b"/finalize",
    b"%2F",
    b"%2e",
    b"%2E",
    b"%C3%A9",
    b"%25",
    b"/../",
    b"//",
    b"?",
    b"#",
    b"\\",
    b"%",
)


def check(data: bytes) -> None:
    """`data` is a request target."""
    head = RequestHead(b"GET", data, [])
    found = find(head)
    find_without_sign_in(head)
    assert named(head) is None or named(head) in {route.value for route in Route}
    if isinstance(found, Interruption):
        if found.reason is Reason.UNSUPPORTED_SUBRESOURCE:
            assert _opens_a_stream(data.partition(b"?")[0].removeprefix(b"/k8s"))
    elif found.route is Route.K8S:
        _goes_up(data, found)
    else:
        assert found.upstream_target == b""


def _goes_up(target: bytes, found: Matched) -> None:
    assert b"/k8s" + found.upstream_target == target
    assert not set(target) - set(range(0x21, 0x7F)) and b"#" not in target
    path, _, query = found.upstream_target.partition(b"?")
    assert (b"/k8s" + path, query) == (found.path, found.query)
    assert canonical.fault(path) is None
    decoded = _unescaped_by_go(path)
    # No slash and no dot segment comes out of an escape; nothing would be cleaned, and so redirected.
    assert decoded.split(b"/") == [unquote_to_bytes(segment) for segment in path.split(b"/")]
    assert posixpath.normpath(decoded) == decoded
    for segment in path[1:].split(b"/"):
        _has_one_spelling(segment)
    assert not _opens_a_stream(path)


def _unescaped_by_go(path: bytes) -> bytes:
    """`net/url`'s unescape for a path: `%` and two digits of either case, or an error."""
    found = bytearray()
    at = 0
    while at < len(path):
        if path[at] != ord("%"):
            found.append(path[at])
            at += 1
            continue
        digits = path[at + 1 : at + 3]
        assert len(digits) == 2 and all(chr(digit) in "0123456789abcdefABCDEF" for digit in digits)
        found.append(int(digits, 16))
        at += 3
    return bytes(found)


def _has_one_spelling(segment: bytes) -> None:
    """Another spelling of the same octets is only ever one of a reserved character (RFC 3986 section 2.2)."""
    for octet in set(unquote_to_bytes(segment)):
        plain, escaped = bytes([octet]), b"%%%02X" % octet
        either = {each for each in (plain, escaped, escaped.lower()) if canonical.fault(b"/a" + each) is None}
        assert len(either) == 1 or (len(either) == 2 and plain in b"!$&'()*+,;=:@")


def _opens_a_stream(path: bytes) -> bool:
    """Whether `k8s.io/apiserver/pkg/endpoints/request` reads the verb proxy or such a subresource in it."""
    parts = _unescaped_by_go(path).strip(b"/").split(b"/")
    if len(parts) < 3 or parts[0] not in (b"api", b"apis"):
        return False
    grouped, parts = parts[0] == b"apis", parts[1:]
    if grouped:
        if len(parts) < 3:
            return False
        parts = parts[1:]
    parts = parts[1:]
    if parts[0] in (b"proxy", b"watch"):
        if len(parts) < 2:
            return False
        verb, parts = parts[0], parts[1:]
        if verb == b"proxy":
            return True
    if parts[0] == b"namespaces" and len(parts) > 2 and parts[2] not in (b"status", b"finalize"):
        parts = parts[2:]
    return len(parts) >= 3 and parts[2] in UNSUPPORTED


TARGET = Target("paths", check, lambda: [*SEEDS], words=WORDS, longest=512)
