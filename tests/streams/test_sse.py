"""Frames of the wire."""

from foyer.streams import errors, sse
from foyer.streams.sse import Type
from tests.streams.following import opening
from tests.support.jsontext_twin import Spelled, decode


def data(kind: Type, tail: bytes) -> object:
    frame = kind.head % 7 + tail
    assert frame.startswith(b'data: {"seq":7,"type":"%b"' % kind.value.encode())
    assert frame.endswith(b"\n\n") and frame.count(b"\n") == 2
    return decode(frame.removeprefix(b"data: "))


def test_a_reset_repeats_what_was_asked_for() -> None:
    query = (
        b"target=prod&group=apps&version=v1&resource=deployments&namespace=app&name=web&labelSelector=a%3Db"
    )
    assert data(Type.RESET, sse.reset(opening(query))) == {
        "seq": Spelled("7"),
        "type": "reset",
        "target": "prod",
        "scope": {
            "target": "prod",
            "group": "apps",
            "version": "v1",
            "resource": "deployments",
            "namespace": "app",
            "name": "web",
            "labelSelector": "a=b",
        },
        "projection": "krm-full/v1",
    }


def test_a_scope_without_a_target_says_so() -> None:
    assert data(Type.RESET, sse.reset(opening(b"version=v1&resource=nodes&projection=krm-raw/v1"))) == {
        "seq": Spelled("7"),
        "type": "reset",
        "target": "",
        "scope": {"target": "", "version": "v1", "resource": "nodes"},
        "projection": "krm-raw/v1",
    }


def test_a_synced_and_a_deleted() -> None:
    assert data(Type.SYNCED, sse.SYNCED) == {"seq": Spelled("7"), "type": "synced"}
    assert data(Type.DELETED, sse.deleted(b'{"uid":"u"}')) == {
        "seq": Spelled("7"),
        "type": "deleted",
        "identity": {"uid": "u"},
    }


def test_an_error_with_and_without_a_hint() -> None:
    assert data(Type.ERROR, sse.error(errors.forbidden('no "\n\u2028\ud800'))) == {
        "seq": Spelled("7"),
        "type": "error",
        "code": "FORBIDDEN",
        "message": 'no "\n\u2028\ud800',
        "terminal": True,
    }
    assert data(Type.ERROR, sse.error(errors.unavailable("later", 1.5))) == {
        "seq": Spelled("7"),
        "type": "error",
        "code": "UPSTREAM_UNAVAILABLE",
        "message": "later",
        "terminal": False,
        "retryAfterMs": Spelled("1500"),
    }


def test_a_heartbeat_is_a_comment() -> None:
    assert sse.HEARTBEAT == b": heartbeat\n\n"


def test_what_upstream_wrote_is_in_no_repr() -> None:
    assert "secret words" not in repr(errors.forbidden("secret words"))
    assert "secret words" not in str(errors.forbidden("secret words"))


def test_only_a_resync_is_followed_by_anything() -> None:
    makers = (errors.forbidden, errors.unauthenticated, errors.scope_invalid, errors.internal)
    assert all(make("x").last and make("x").terminal for make in makers)
    assert errors.unavailable("x", 1).last and not errors.unavailable("x", 1).terminal
    assert not errors.resync("x").last and not errors.resync("x").terminal
