"""Who sends a case: a person of its own, so that whose request arrived where says which case it was of."""

import itertools
import os
import re
import time
from dataclasses import dataclass

from foyer.session.keys import Keyring
from foyer.session.seal import COOKIE, IdToken, Session, SessionID, seal
from tests.support.pairings import ISSUER, ORIGIN
from tests.support.script import Fields

MARKER = re.compile(rb"case-\d{6}")

_numbers = itertools.count()


@dataclass(frozen=True)
class Person:
    """Signed in without a login. `marker` is in the path of each of their requests."""

    marker: bytes
    token: bytes
    fields: Fields

    @property
    def lines(self) -> bytes:
        """The fields of a change, as lines."""
        return b"".join(b"%b: %b\r\n" % field for field in self.fields)


def newcomer(keyring: Keyring) -> Person:
    """Somebody new."""
    number, now = next(_numbers), int(time.time())
    marker = b"case-%06d" % number
    session = Session(
        issuer=ISSUER,
        subject=marker.decode(),
        email=f"{marker.decode()}@example.test",
        display_name="",
        groups=(),
        connector=None,
        id_token=IdToken(b"token-of-" + marker),
        session_id=SessionID(os.urandom(16).hex()),
        csrf_token=os.urandom(8).hex(),
        issued_at=now,
        ends_at=now + 3600,
    )
    fields = [
        (b"Cookie", f"{COOKIE}={seal(session, keyring)}".encode()),
        (b"X-CSRF-Token", session.csrf_token.encode()),
        (b"Origin", ORIGIN.encode()),
    ]
    return Person(marker, bytes(session.id_token), fields)
