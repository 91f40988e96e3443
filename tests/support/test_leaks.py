"""The scan finds what it is for."""

import base64
import json
import os
from collections.abc import Callable

import pytest

from foyer.session.keys import Keyring
from foyer.session.seal import IdToken, Session, SessionID, seal
from tests.support.leaks import Leaks


def jwt() -> bytes:
    parts = [json.dumps({part: "value"}).encode() for part in ("alg", "sub", "signature")]
    return b".".join(base64.urlsafe_b64encode(part).rstrip(b"=") for part in parts)


def sealed() -> bytes:
    session = Session("i", "s", "e", "n", (), None, IdToken(jwt()), SessionID("id"), "csrf", 1, 2)
    return seal(session, Keyring([os.urandom(32)])).encode()


def test_a_known_secret_is_found_and_not_shown() -> None:
    leaks = Leaks()
    leaks.saw("a log line", b'{"msg":"correct horse"}')
    leaks.secret("correct horse", "the client secret")
    with pytest.raises(AssertionError, match="the client secret in a log line") as failure:
        leaks.check()
    assert "correct horse" not in str(failure.value)


@pytest.mark.parametrize(("make", "what"), [(jwt, "a JWT"), (sealed, "a sealed cookie")])
def test_an_unknown_secret_is_found_by_its_shape(make: Callable[[], bytes], what: str) -> None:
    for _ in range(100):
        leaks = Leaks()
        leaks.saw("a response", b"Location: /?x=" + make() + b"&y=z")
        with pytest.raises(AssertionError, match=f"{what} by its shape in a response"):
            leaks.check()


def test_ordinary_content_is_no_leak() -> None:
    leaks = Leaks()
    leaks.secret("correct horse", "the client secret")
    leaks.saw("a response", b'{"kind":"Status","message":"' + b"x" * 400 + b'"}')
    leaks.check()
