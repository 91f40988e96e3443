"""What a session costs: to open on every request, and to seal once at login.

CPU time of this process, the best of many rounds over many different cookies, as a replica sees
them. Trust the ratios of one run.
"""

import binascii
import json
import os
import time
from collections.abc import Callable, Sequence

from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from bench.report import Report
from foyer.protocol.events import Fields
from foyer.session import spelling
from foyer.session.keys import Keyring
from foyer.session.live import signed_in
from foyer.session.seal import COOKIE, IdToken, Session, SessionID, open_session, seal

COOKIES = 400
ROUNDS = 40

ISSUED_AT = 1_700_000_000

OPEN, SEAL = 6.0, 9.0
"""Microseconds that the Go program published for the same needed on its makers' machine."""


def session(number: int) -> Session:
    """With a token of the size Dex gives: 1,589 bytes of cookie, name and value, were seen with it."""
    return Session(
        issuer="https://dex.example.test/dex",
        subject="CiQwOGE4Njg0Yi1kYjg4LTRiNzMtOTBhOS0zY2QxNjYxZjU0NjYSBWxvY2Fs",
        email=f"user-{number:04}@example.test",
        display_name=f"User {number}",
        groups=("demo-editors", "team-a"),
        connector="local",
        id_token=IdToken(spelling.encode(os.urandom(600)).encode()),
        session_id=SessionID(spelling.encode(os.urandom(16))),
        csrf_token=spelling.encode(os.urandom(32)),
        issued_at=ISSUED_AT,
        ends_at=ISSUED_AT + 28_800,
    )


def cost(of: Callable[[], object], calls: int = COOKIES) -> float:
    """Microseconds of CPU for one of the `calls` that `of` makes."""
    best = float("inf")
    for _ in range(ROUNDS):
        began = time.process_time_ns()
        of()
        best = min(best, time.process_time_ns() - began)
    return best / calls / 1000


def each(function: Callable[..., object], arguments: Sequence[object]) -> Callable[[], None]:
    def run() -> None:
        for argument in arguments:
            function(argument)

    return run


def measure(report: Report) -> None:
    """Fills the table."""
    keyring = Keyring([os.urandom(32), os.urandom(32)])
    other = Keyring([os.urandom(32)])
    sessions = [session(number) for number in range(COOKIES)]
    values = [seal(one, keyring).encode() for one in sessions]
    requests: list[Fields] = [
        [(b"accept", b"*/*"), (b"cookie", b"theme=dark; %s=%s" % (COOKIE.encode(), value))]
        for value in values
    ]

    # What opening cannot do without, in the standard library's and cryptography's own calls.
    encryption, nonce = AESGCM(os.urandom(32)), bytes(12)
    sealed = [encryption.encrypt(nonce, os.urandom(len(value) * 3 // 4 - 37), b"name") for value in values]
    standard = [binascii.b2a_base64(data, newline=False) for data in sealed]
    as_json = [json.dumps(one[:6] + one[7:] + (one.id_token.decode(),)).encode() for one in sessions]

    rows: dict[str, tuple[Callable[..., object], Sequence[object]]] = {
        "  of it base64url, strictly": (spelling.decode, values),
        "  of it a2b_base64": (binascii.a2b_base64, standard),
        "  of it AES-256-GCM": (lambda data: encryption.decrypt(nonce, data, b"name"), sealed),
        "  the parts, were they JSON": (json.loads, as_json),
        "cookie, open, still live": (
            lambda fields: signed_in(fields, keyring, ISSUED_AT + 1.0, 28_800.0),
            requests,
        ),
        "sealed by a key that is gone": (lambda value: open_session(value, other), values),
    }
    table = report.table(f"A session, CPU µs; its cookie is {len(values[0])} bytes", ["µs"])
    table.at_most("open", [cost(each(lambda value: open_session(value, keyring), values))], OPEN)
    for what, (function, arguments) in rows.items():
        table.row(what, [cost(each(function, arguments))], ".2f")
    table.at_most("seal", [cost(each(lambda one: seal(one, keyring), sessions))], SEAL)
