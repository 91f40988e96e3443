"""A request's head on its way up: built anew, with three fields of the browser's."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foyer.k8s.outgoing import request_head
from foyer.protocol.events import Fields, RequestHead

TOKEN = b"header.claims.signature"
OURS = [(b"authorization", b"Bearer header.claims.signature"), (b"accept-encoding", b"gzip")]


def upstream_fields(*fields: tuple[bytes, bytes]) -> Fields:
    browser = RequestHead(b"POST", b"/k8s/api/v1/pods?a=b", list(fields), authority=b"evil", ended=False)
    return request_head(browser, b"/api/v1/pods?a=b", TOKEN, b"api.example:6443").fields


def test_the_line_is_the_upstreams() -> None:
    browser = RequestHead(b"PATCH", b"/k8s/api", [(b"host", b"evil")], authority=b"evil", ended=False)
    head = request_head(browser, b"/api", TOKEN, b"api.example:6443")
    assert (head.method, head.target, head.authority) == (b"PATCH", b"/api", b"api.example:6443")
    assert not head.ended
    assert request_head(RequestHead(b"GET", b"/k8s/api", []), b"/api", TOKEN, b"a").ended


def test_accept_content_type_and_user_agent_go_up_beside_the_token() -> None:
    assert upstream_fields(
        (b"accept", b"application/json"), (b"content-type", b"application/yaml"), (b"user-agent", b"page/1")
    ) == [
        *OURS,
        (b"accept", b"application/json"),
        (b"content-type", b"application/yaml"),
        (b"user-agent", b"page/1"),
    ]


def test_the_length_of_the_content_is_known_upstream() -> None:
    assert upstream_fields((b"content-length", b"12")) == [*OURS, (b"content-length", b"12")]


def test_repeated_lines_go_up_as_one() -> None:
    assert upstream_fields(
        (b"accept", b"application/json"),
        (b"accept", b""),
        (b"accept", b"*/*"),
        (b"content-type", b"application/json"),
        (b"content-type", b"application/yaml"),
    ) == [
        *OURS,
        (b"accept", b"application/json, */*"),
        (b"content-type", b"application/json, application/yaml"),
    ]


@pytest.mark.parametrize(
    "name",
    [
        b"authorization",
        b"cookie",
        b"impersonate-user",
        b"impersonate_user",
        b"impersonate-extra-scopes",
        b"x-remote-user",
        b"x_remote_user",
        b"x-remote_group",
        b"forwarded",
        b"x-forwarded-for",
        b"x-forwarded-uri",
        b"x-original-url",
        b"x-http-method-override",
        b"traceparent",
        b"te",
        b"trailer",
        b"transfer-encoding",
        b"accept-encoding",
        b"connection",
        b"keep-alive",
        b"expect",
        b"host",
        b"x-csrf-token",
        b"content_type",
        b"content-encoding",
        b"if-none-match",
        b"user_agent",
    ],
)
def test_nothing_else_goes_up(name: bytes) -> None:
    assert upstream_fields((name, b"root")) == OURS


def test_connection_takes_nothing_away() -> None:
    fields = upstream_fields(
        (b"connection", b""),
        (b"connection", b"authorization, accept, cookie"),
        (b"accept", b"application/json"),
    )
    assert fields == [*OURS, (b"accept", b"application/json")]


@given(
    st.lists(
        st.tuples(
            st.sampled_from([b"accept", b"authorization", b"content-type", b"user-agent", b"cookie"])
            | st.binary(min_size=1, max_size=12),
            st.binary(max_size=12),
        )
    )
)
def test_whatever_comes_the_fields_are_few_and_each_is_there_once(fields: Fields) -> None:
    up = upstream_fields(*fields)
    names = [name for name, _ in up]
    assert up[:2] == OURS
    assert len(set(names)) == len(names)
    assert set(names[2:]) <= {b"accept", b"content-type", b"user-agent", b"content-length"}


def test_a_request_without_a_token_is_never_built() -> None:
    with pytest.raises(AssertionError):
        request_head(RequestHead(b"GET", b"/k8s/api", []), b"/api", b"", b"api.example")
