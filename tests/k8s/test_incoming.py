"""A response's head on its way back: what passes, what is held back, and what it says."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foyer.interruption import Interruption, Reason, StatusCause
from foyer.k8s.incoming import SECURITY_FIELDS, Passed, incoming
from foyer.protocol.events import Fields, ResponseHead

JSON = (b"content-type", b"application/json")
GZIP = (b"content-encoding", b"gzip")


def passed(
    *fields: tuple[bytes, bytes], status: int = 200, method: bytes = b"GET", ended: bool = False
) -> Passed:
    result = incoming(ResponseHead(status, list(fields), ended=ended), method)
    assert isinstance(result, Passed)
    return result


def own_fields(result: Passed) -> Fields:
    """The fields to the browser without the ones every answer carries, which must be there."""
    count = len(result.head.fields) - len(SECURITY_FIELDS)
    assert result.head.fields[count:] == SECURITY_FIELDS
    return result.head.fields[:count]


def interrupted(
    *fields: tuple[bytes, bytes], status: int = 200, method: bytes = b"GET", ended: bool = False
) -> Interruption:
    result = incoming(ResponseHead(status, list(fields), ended=ended), method)
    assert isinstance(result, Interruption)
    return result


def test_every_proxied_answer_carries_the_security_fields() -> None:
    assert SECURITY_FIELDS == [
        (b"x-content-type-options", b"nosniff"),
        (b"content-security-policy", b"default-src 'none'; sandbox"),
        (b"cache-control", b"no-store"),
        (b"referrer-policy", b"no-referrer"),
        (b"x-accel-buffering", b"no"),
    ]
    assert own_fields(passed(JSON)) == [JSON]


@pytest.mark.parametrize("status", [200, 201, 202, 400, 401, 403, 404, 409, 422, 429, 500, 503, 504, 599])
def test_an_answer_of_kubernetes_keeps_its_status(status: int) -> None:
    assert passed(JSON, status=status).head.status == status


@pytest.mark.parametrize(
    "content_type",
    [
        b"application/json",
        b"application/yaml",
        b"application/vnd.kubernetes.protobuf",
        b"application/cbor",
        b"application/cbor-seq",
        b"application/com.github.proto-openapi.spec.v2@v1.0+protobuf",
        b"application/com.github.proto-openapi.spec.v3@v1.0+protobuf",
        b"application/com.github.proto-openapi.spec.v2.v1.0+protobuf",
        b"application/com.github.proto-openapi.spec.v3.v1.0+protobuf",
        b"text/plain",
        b"text/plain; charset=utf-8",
        b"application/json;stream=watch",
        b"application/json ; g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList",
        b"Application/JSON",
        b"application/json;",
    ],
)
def test_a_type_on_the_list_passes_as_it_is(content_type: bytes) -> None:
    assert own_fields(passed((b"content-type", content_type))) == [(b"content-type", content_type)]


@pytest.mark.parametrize(
    ("content_type", "named"),
    [
        (b"text/html", "text/html"),
        (b"text/html; charset=utf-8", "text/html"),
        (b"image/svg+xml", "image/svg+xml"),
        (b"application/javascript", "application/javascript"),
        (b"application/jsonp", "application/jsonp"),
        (b"application/json text/html", "it is malformed"),
        (b"application", "it is malformed"),
        (b";application/json", "it is malformed"),
        (b"<script>/x", "it is malformed"),
        (b"text/" + b"x" * 64, "it is malformed"),
        (b"text/h\xc3\xa9", "it is malformed"),
        (b"application/json, text/html", "there is more than one"),
        (b'application/json; a="b,c"', "there is more than one"),
    ],
)
@pytest.mark.parametrize("method", [b"GET", b"HEAD"])
def test_any_other_type_is_held_back_and_named(content_type: bytes, named: str, method: bytes) -> None:
    interruption = interrupted((b"content-type", content_type), method=method)
    assert interruption.reason is Reason.UPSTREAM_CONTENT_HELD_BACK
    assert interruption.causes == (StatusCause("ContentHeldBack", "Content-Type", named),)
    assert interruption.failure == "content_type"


def test_a_repeated_type_is_held_back_even_when_it_says_the_same() -> None:
    assert interrupted(JSON, JSON).causes[0].message == "there is more than one"
    assert interrupted((b"content-type", b""), JSON).causes[0].message == "there is more than one"


def test_content_without_a_type_is_held_back() -> None:
    assert interrupted().causes == (StatusCause("ContentHeldBack", "Content-Type", "there is none"),)
    assert interrupted((b"content-length", b"1")).reason is Reason.UPSTREAM_CONTENT_HELD_BACK
    assert interrupted((b"content-type", b"")).causes[0].message == "there is none"


def test_an_answer_without_content_needs_no_type() -> None:
    assert own_fields(passed((b"content-length", b"0"))) == [(b"content-length", b"0")]
    assert own_fields(passed((b"content-type", b""), (b"content-length", b"0"))) == [
        (b"content-length", b"0")
    ]
    assert own_fields(passed((b"content-length", b"7"), method=b"HEAD")) == [(b"content-length", b"7")]
    assert own_fields(passed(method=b"HEAD")) == []
    assert own_fields(passed(ended=True)) == []
    assert own_fields(passed(status=204)) == []
    assert own_fields(passed(status=304)) == []


@pytest.mark.parametrize("status", [204, 304])
def test_no_length_is_claimed_where_there_can_be_no_content(status: int) -> None:
    assert own_fields(passed((b"content-length", b"7"), status=status)) == []


def test_fields_are_allowlisted() -> None:
    passing = [
        (b"audit-id", b"1"),
        (b"warning", b'299 - "old"'),
        (b"warning", b'299 - "older"'),
        (b"retry-after", b"1"),
        (b"x-kubernetes-pf-flowschema-uid", b"2"),
        (b"x-kubernetes-pf-prioritylevel-uid", b"3"),
    ]
    stopped = [
        (b"set-cookie", b"__Host-krm-foyer-session=x"),
        (b"access-control-allow-origin", b"*"),
        (b"cache-control", b"public"),
        (b"content-security-policy", b"default-src *"),
        (b"x-content-type-options", b"sniff"),
        (b"etag", b'"1"'),
        (b"date", b"now"),
        (b"server", b"x"),
        (b"location", b"https://evil.example/"),
        (b"refresh", b"0; url=https://evil.example/"),
        (b"clear-site-data", b'"*"'),
        (b"krm-foyer-interruption", b"Unauthorized"),
        (b"krm_foyer_interruption", b"Unauthorized"),
        (b"transfer-encoding", b"chunked"),
        (b"connection", b"audit-id"),
        (b"trailer", b"x"),
        (b"audit_id", b"4"),
        (b"content-disposition", b"attachment"),
        (b"www-authenticate", b"Basic"),
    ]
    assert own_fields(passed(*stopped, JSON, *passing)) == [*passing, JSON]


def test_a_plain_length_passes_and_is_known() -> None:
    result = passed(JSON, (b"content-length", b"1234"))
    assert own_fields(result) == [JSON, (b"content-length", b"1234")]
    assert (result.gzip, result.length) == (False, 1234)
    assert passed(JSON).length is None


@pytest.mark.parametrize("gzip", [b"gzip", b"GZIP"])
def test_gzip_is_to_be_decoded_and_leaves_neither_encoding_nor_length(gzip: bytes) -> None:
    result = passed(JSON, (b"content-encoding", gzip), (b"content-length", b"1234"))
    assert own_fields(result) == [JSON]
    assert (result.gzip, result.length) == (True, None)


@pytest.mark.parametrize(
    "encoding", [b"br", b"deflate", b"x-gzip", b"identity", b"gzip, gzip", b"gzip,", b""]
)
@pytest.mark.parametrize("method", [b"GET", b"HEAD"])
def test_any_other_encoding_is_held_back(encoding: bytes, method: bytes) -> None:
    interruption = interrupted(JSON, (b"content-encoding", encoding), method=method)
    assert interruption.reason is Reason.UPSTREAM_CONTENT_HELD_BACK
    assert interruption.causes[0].field == "Content-Encoding"
    assert interruption.failure == "content_encoding"


@pytest.mark.parametrize("other", [b"gzip", b"", b"br"])
def test_a_repeated_encoding_is_held_back(other: bytes) -> None:
    for fields in ([GZIP, (b"content-encoding", other)], [(b"content-encoding", other), GZIP]):
        assert interrupted(JSON, *fields).reason is Reason.UPSTREAM_CONTENT_HELD_BACK


def test_there_is_nothing_to_decode_where_there_is_no_content() -> None:
    head = passed(JSON, GZIP, (b"content-length", b"99"), method=b"HEAD")
    assert (head.gzip, head.length) == (False, 0)
    assert own_fields(head) == [JSON]
    empty = passed(GZIP, (b"content-length", b"0"))
    assert (empty.gzip, empty.length) == (False, 0)


def test_a_head_response_is_never_too_large() -> None:
    assert passed(JSON, (b"content-length", b"99999999999"), method=b"HEAD").length == 0


@pytest.mark.parametrize("length", [b"", b"-1", b"+1", b"1 ", b"1,1", b"0x1", b"9" * 19, b"\xb2"])
def test_a_length_that_cannot_be_read_makes_the_upstream_unavailable(length: bytes) -> None:
    interruption = interrupted(JSON, (b"content-length", length))
    assert (interruption.reason, interruption.failure) == (Reason.UPSTREAM_UNAVAILABLE, "protocol")


def test_a_repeated_length_makes_the_upstream_unavailable() -> None:
    length = (b"content-length", b"1")
    assert interrupted(JSON, length, length).reason is Reason.UPSTREAM_UNAVAILABLE


@pytest.mark.parametrize("status", [0, 99, 101, 199, 600, 999])
def test_a_status_that_is_none_makes_the_upstream_unavailable(status: int) -> None:
    interruption = interrupted(JSON, status=status)
    assert (interruption.reason, interruption.failure) == (Reason.UPSTREAM_UNAVAILABLE, "protocol")


@pytest.mark.parametrize("status", [300, 301, 302, 303, 305, 307, 308, 399])
@pytest.mark.parametrize("method", [b"GET", b"HEAD", b"POST"])
def test_a_redirect_is_held_back_with_its_target(status: int, method: bytes) -> None:
    interruption = interrupted((b"location", b"https://evil.example/?a=b"), status=status, method=method)
    assert (interruption.reason, interruption.failure) == (Reason.UPSTREAM_REDIRECT, "redirect")
    assert interruption.causes == (StatusCause("Redirect", "Location", "https://evil.example/?a=b"),)


@pytest.mark.parametrize(
    ("targets", "shown"),
    [
        ([], [""]),
        ([b""], [""]),
        ([b"/relative"], ["/relative"]),
        ([b"javascript:alert(1)"], ["javascript:alert(1)"]),
        ([b"https://a/", b"https://b/"], ["https://a/", "https://b/"]),
        ([b"https://a/"] * 9, ["https://a/"] * 4),
        ([b"https://\xe2\x80\xae/"], ["https://\\xe2\\x80\\xae/"]),
        ([b"https://a/\t\x00"], ["https://a/\\t\\x00"]),
        ([b"x" * 3000], ["x" * 2048 + "…"]),
    ],
)
def test_a_redirects_target_is_bounded_plain_text(targets: list[bytes], shown: list[str]) -> None:
    interruption = interrupted(*((b"location", target) for target in targets), status=302)
    assert [cause.message for cause in interruption.causes] == shown


@given(
    status=st.integers(200, 599),
    method=st.sampled_from([b"GET", b"HEAD", b"POST"]),
    ended=st.booleans(),
    fields=st.lists(
        st.tuples(
            st.sampled_from([b"content-type", b"content-encoding", b"content-length", b"location", b"x"]),
            st.sampled_from([b"application/json", b"gzip", b"5", b"0", b"text/html", b""])
            | st.binary(max_size=9),
        )
        | st.tuples(st.sampled_from([b"set-cookie", b"warning", b"etag"]), st.binary(max_size=9)),
        max_size=6,
    ),
)
def test_what_passes_has_one_allowed_type_and_no_encoding(
    status: int, method: bytes, ended: bool, fields: Fields
) -> None:
    before = list(fields)
    result = incoming(ResponseHead(status, fields, ended=ended), method)
    assert fields == before
    if isinstance(result, Interruption):
        assert result.reason.status == 502
        return
    assert result.head.ended == ended
    own = own_fields(result)
    types = [value for name, value in own if name == b"content-type"]
    assert types in ([], [b"application/json"])
    assert types or result.length == 0
    assert {name for name, _ in own} <= {b"content-type", b"content-length", b"warning"}
    assert not (result.gzip and result.length is not None)
