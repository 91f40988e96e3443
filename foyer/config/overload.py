"""The flags of overload protection and read admission, with their reasons (spec 06; the seeds' tables).

None of them changes on a reload: as of the bounds, a replica that holds some to one limit and some to
another is hard to reason about. Every limit is a replica's own. Zero is refused in each by its parser.
"""

import math
from collections.abc import Mapping
from typing import Any

from foyer.config import memory, values
from foyer.config.flag import Flag
from foyer.config.parts import OverloadConfig

OTHERS = 512
"""Requests that no bound of a session's holds, at once: pages, sign-ins, checks for an ingress."""

FLAGS: tuple[Flag, ...] = (
    Flag(
        "max-server-requests",
        "Overload",
        "number",
        values.count,
        "Requests that this replica serves at once, open responses and streams included, whoever they are"
        " from. One more is a 503 with Retry-After before anything of it is read; probes never are. The two"
        " limits are -max-concurrent-requests and -max-streams.",
        # More than the bounds let be open, so that whoever meets a bound is told of that one.
        derived="both replica limits + 512",
        sign_in=False,
    ),
    Flag(
        "overload-retry-after",
        "Overload",
        "duration",
        values.duration,
        "Retry-After of a 503 because of a limit of this group, in whole seconds, rounded up.",
        # What is refused is over within a second or so, or nothing that waiting helps.
        default="1s",
        sign_in=False,
    ),
    Flag(
        "user-request-rate",
        "Overload",
        "number a second",
        values.rate,
        "Requests and streams a second that one person may begin in the long run, in all of their sessions."
        " One more is a 429 with Retry-After. Without it no person is held to a rate.",
    ),
    Flag(
        "user-request-burst",
        "Overload",
        "number",
        values.count,
        "How many of them may come at once. It refills at -user-request-rate, and is nothing without it.",
        default="20",
    ),
    Flag(
        "max-target-in-flight",
        "Overload",
        "number",
        values.count,
        "Requests that are sent to one target at once and wait for its answer. One more waits for up to"
        " -target-timeout.",
        default="64",
    ),
    Flag(
        "max-target-answer-bytes",
        "Overload",
        "size",
        values.size,
        "Bytes of one answer that foyer reads whole: a page of a list, a review. A longer one is dropped.",
        # 500 objects of 32 KiB: larger than any page of ordinary ones.
        default="16MiB",
    ),
    Flag(
        "target-timeout",
        "Overload",
        "duration",
        values.duration,
        "How long a request waits where a target has -max-target-in-flight, and how long a target of a fleet"
        " read may take.",
        default="30s",
    ),
    Flag(
        "admission-wait",
        "Overload",
        "duration",
        values.duration,
        "How long a read waits at each of the two gates, below -target-timeout. Then it is a 503 with"
        " Retry-After.",
        # A third of the target's time: what was admitted late still has most of it.
        default="10s",
    ),
    Flag(
        "target-wait-threshold",
        "Overload",
        "duration",
        values.duration,
        "A read that waits longer for a place on a connection halves how many may be read at once.",
        # Well above opening a connection and a round trip, which would read as congestion.
        default="1s",
    ),
    Flag(
        "memory-pool",
        "Overload",
        "size",
        values.size,
        "Memory for fleet lists and snapshots of streams, all together; more of them wait. Where the"
        " container has no limit it is half of the machine's.",
        # The other half is for everything else, and for what Python has not yet given back.
        derived="half of the container's memory",
    ),
    Flag(
        "max-fleet-items",
        "Overload",
        "number",
        values.count,
        "Items of one fleet list. A longer one is cut to the oldest of them, and says so.",
        default="5000",
    ),
)


def overload(given: Mapping[str, Any]) -> OverloadConfig:
    """The limits of checked values, by flag."""
    bounds = given["max-concurrent-requests"] + given["max-streams"]
    return OverloadConfig(
        max_server_requests=given["max-server-requests"] or bounds + OTHERS,
        retry_after=math.ceil(given["overload-retry-after"]),
        user_rate=given["user-request-rate"],
        user_burst=given["user-request-burst"],
        max_target_in_flight=given["max-target-in-flight"],
        max_target_answer_bytes=given["max-target-answer-bytes"],
        target_timeout=given["target-timeout"],
        admission_wait=given["admission-wait"],
        target_wait_threshold=given["target-wait-threshold"],
        memory_pool=given["memory-pool"] or memory.available() // 2,
        max_fleet_items=given["max-fleet-items"],
    )
