"""The bounds' flags, with their defaults and the reasons for them (spec 04; the seed's table).

None of them changes on a reload: what is open was let in under the old limit, and a replica that holds
some to one limit and some to another is hard to reason about.
"""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from foyer.config import values
from foyer.config.flag import Flag
from foyer.gate.limits import Limits

FLAGS: tuple[Flag, ...] = (
    Flag(
        "session-request-rate",
        "Bounds",
        "number a second",
        values.rate,
        "Requests and streams a second that one session may begin in the long run. One more is a 429 with"
        " Retry-After.",
        # Far above what a person who clicks makes; a page that asks in a loop meets it within seconds.
        default="20",
    ),
    Flag(
        "session-request-burst",
        "Bounds",
        "number",
        values.count,
        "How many of them may come at once. It refills at -session-request-rate.",
        # A page that loads for the first time, with discovery, sends dozens.
        default="100",
    ),
    Flag(
        "max-session-concurrent-requests",
        "Bounds",
        "number",
        values.count,
        "Requests that one session may have open at once, watches through /k8s among them. One more is a"
        " 429.",
        # Dozens for a moment over HTTP/2, beside a dozen watches.
        default="64",
    ),
    Flag(
        "max-concurrent-requests",
        "Bounds",
        "number",
        values.count,
        "Requests that this replica may have open at once, whoever they are from. One more is a 429.",
        # Some 50 MiB of watches over HTTP/1.1, and a fifth of it over HTTP/2.
        default="2000",
    ),
    Flag(
        "max-session-streams",
        "Bounds",
        "number",
        values.count,
        "Streams that one session may have open at once, in all of its tabs. One more is a 429.",
        # Several tabs with several live lists each; a page that leaks them meets it.
        default="32",
    ),
    Flag(
        "max-streams",
        "Bounds",
        "number",
        values.count,
        "Streams that this replica may have open at once. One more is a 429.",
        default="2000",
    ),
    Flag(
        "max-response-duration",
        "Bounds",
        "duration",
        values.duration,
        "How long a response may stay open, a watch or stream too, before it is cut short.",
        # The least that an API server itself keeps a watch for whose client names no time.
        default="30m",
    ),
    Flag(
        "max-response-bytes",
        "Bounds",
        "size",
        values.size,
        "Bytes of one response through /k8s, as decoded. A longer one is a 502 where its length is known, and"
        " is cut short where it is not.",
        # A list of a few thousand ordinary objects; of a gzip bomb, what some 32 KiB expand to.
        default="32MiB",
    ),
    Flag(
        "session-check-interval",
        "Bounds",
        "duration, 1s to 5m",
        values.check_interval,
        "How often an open response asks whether its session is still alive. Logout and a new login do not"
        " wait for it.",
        default="5s",
    ),
    Flag(
        "stream-write-timeout",
        "Bounds",
        "duration",
        values.duration,
        "How long a stream's browser may take nothing while bytes wait for it, before the stream is cut"
        " short.",
        # A live view that is ten seconds behind is not live; its page opens it again.
        default="10s",
    ),
    Flag(
        "response-write-timeout",
        "Bounds",
        "duration or off",
        values.duration_or_off,
        "The same for a response through /k8s. With off, only its duration and its session end it.",
        # Longer than a page's script or a laptop's radio sleeps, shorter than anyone waits for a list.
        default="60s",
    ),
    Flag(
        "auth-request-rate",
        "Bounds",
        "number a second",
        values.rate,
        "Logins a second that may come back from the issuer to be finished, each a request of foyer's to it."
        " One more is refused as login-rate-exceeded, with Retry-After.",
        # Everybody of an organisation of thousands signs in anew within minutes, as it starts its day.
        default="50",
    ),
    Flag(
        "auth-request-burst",
        "Bounds",
        "number",
        values.count,
        "How many of them may come at once. It refills at -auth-request-rate.",
        default="200",
    ),
    Flag(
        "max-token-requests",
        "Bounds",
        "number",
        values.count,
        "Codes that are being exchanged with the issuer at once. Others wait up to 10 s for their turn.",
        # Issuers hash a client's secret slowly, on purpose: more at once would only make each slower.
        default="16",
    ),
)


def limits(given: Mapping[str, Any]) -> Limits:
    """The bounds of checked values, by flag: each field is the flag of the same name."""
    return Limits(**{field.name: given[field.name.replace("_", "-")] for field in fields(Limits)})
