"""The limit and the gates over minutes of simulated trouble: it comes back, it is fair, and it is useful.

The clock is the simulation's own and chance has a seed, so what is shown here is the same on every machine.
"""

import re
from functools import cache
from itertools import pairwise
from xml.etree import ElementTree

import pytest

from bench.admission import scenes
from bench.admission.plot import drawn
from bench.admission.scenes import SLOW, TROUBLES, Phase
from bench.admission.simulated import Ending, Target
from foyer.gate.wheel import TICK

SVG = "{http://www.w3.org/2000/svg}"

SLOW_ONE, REFUSING, SILENT, BURST = TROUBLES


@cache
def troubled() -> Target:
    return scenes.troubled()


@cache
def five() -> tuple[Target, list[Target]]:
    return scenes.one_slow_of_five()


def answered(target: Target, begins: float, ends: float) -> int:
    return sum(
        reader.ending is Ending.ANSWERED and begins <= (reader.ended_at or 0.0) < ends
        for reader in target.readers
    )


def recovery(target: Target, phase: Phase) -> tuple[int, float]:
    """Reads, and seconds, from the trouble's end until the limit is what a target may be sent at once."""
    since = [wait for wait in target.waits if wait.at >= phase.ends]
    for number, wait in enumerate(since):
        if wait.limit >= target.slots:
            return number, wait.at - phase.ends
    raise AssertionError(f"it never came back after {phase.name}")


def test_the_limit_falls_to_one_in_each_trouble() -> None:
    target = troubled()
    for phase in (SLOW_ONE, REFUSING, SILENT):
        assert min(one.limit for one in target.samples if phase.begins <= one.at < phase.ends + 1) == 1


@pytest.mark.parametrize(
    ("phase", "reads", "seconds"),
    [
        # What had been asked before it was well again is still told; then 63 reads lead from 1 to 64.
        (SLOW_ONE, 256, 2 * SLOW),
        (REFUSING, 64, 1.0),
        # A connection that hangs has ten seconds to fail first.
        (SILENT, 256, 11.0),
    ],
    ids=lambda value: value.name if isinstance(value, Phase) else None,
)
def test_it_comes_back_within_so_many_reads_once_the_server_has(
    phase: Phase, reads: int, seconds: float
) -> None:
    took = recovery(troubled(), phase)
    assert took[0] <= reads
    assert took[1] <= seconds


def test_from_its_last_halving_it_is_back_at_its_start_after_as_many_reads_as_it_lacks() -> None:
    target = troubled()
    for phase in (SLOW_ONE, REFUSING, SILENT):
        since = [wait for wait in target.waits if wait.at >= phase.ends][: recovery(target, phase)[0]]
        rising = since[
            max((n for n, wait in enumerate(since) if wait.seconds > target.threshold), default=0) :
        ]
        assert len(rising) <= target.slots


def test_well_again_it_refuses_nobody() -> None:
    target = troubled()
    calm = [(20.0, SLOW_ONE.begins), (85.0, REFUSING.begins), (120.0, SILENT.begins), (176.0, BURST.begins)]
    for begins, ends in calm:
        came = [reader for reader in target.readers if begins <= reader.arrived < ends - 1]
        assert {reader.ending for reader in came} == {Ending.ANSWERED}


def test_a_server_that_is_slow_is_still_asked_for_nearly_all_that_its_slots_carry() -> None:
    target = troubled()
    carried = target.slots / SLOW * (SLOW_ONE.ends - SLOW_ONE.begins)
    assert answered(target, SLOW_ONE.begins, SLOW_ONE.ends) >= 0.85 * carried


@pytest.mark.parametrize("reads", [1, 5, 40])
def test_reads_that_are_never_answered_do_not_keep_the_others_out_once_a_trouble_is_over(reads: int) -> None:
    """Those hold their places all the while, and the limit had fallen below their number."""
    target, trouble = scenes.some_that_hang(reads), scenes.HANGING_SLOW
    during = [one.limit for one in target.samples if trouble.begins <= one.at < trouble.ends]
    assert min(during) == 1
    assert target.samples[-1].admitted >= reads
    after = [reader for reader in target.readers if trouble.ends + 15 <= reader.arrived < 79]
    assert len(after) > 1000
    assert {reader.ending for reader in after} == {Ending.ANSWERED}


def test_a_burst_that_no_limit_keeps_out_is_answered_whole_and_nobody_is_refused() -> None:
    came = [reader for reader in troubled().readers if BURST.begins <= reader.arrived <= BURST.begins + 5]
    assert len(came) > 2000
    assert {reader.ending for reader in came} == {Ending.ANSWERED}


def test_nobody_waits_at_the_gate_for_longer_than_they_may() -> None:
    target = troubled()
    refused = [reader for reader in target.readers if reader.ending is Ending.NOT_ADMITTED]
    assert len(refused) > 1000
    for reader in refused:
        assert reader.ended_at is not None
        assert target.admission_wait <= reader.ended_at - reader.arrived <= target.admission_wait + 2 * TICK


def test_reads_reach_their_server_in_arrival_order_whatever_befalls_it() -> None:
    for target in (troubled(), *five()[1], five()[0]):
        numbers = [int(name) for name in target.server.order]
        assert all(before < after for before, after in pairwise(numbers))


def test_no_server_is_ever_asked_for_more_at_once_than_its_cap() -> None:
    for target in (troubled(), *five()[1], five()[0]):
        assert target.server.most <= target.slots


def test_a_slow_target_holds_only_its_own_slots() -> None:
    slow, others = five()
    assert {reader.ending for reader in slow.readers} >= {Ending.NOT_ADMITTED}
    assert max(one.in_flight for one in slow.samples) == slow.slots
    for target in others:
        assert max(wait.seconds for wait in target.waits) < 0.1
        assert target.refusals["concurrency"] == 0
        assert max(one.in_flight for one in target.samples) < target.slots / 2


def test_watches_that_stay_open_leave_the_others_their_places() -> None:
    alone, among = scenes.watches_among_reads(0), scenes.watches_among_reads(3000)
    assert sum(reader.watch for reader in among.readers) == 3000
    assert {reader.ending for reader in among.readers} <= {Ending.ANSWERED, None}
    assert max(one.admitted for one in among.samples) <= 2 * max(one.admitted for one in alone.samples)
    assert among.samples[-1].in_flight < 20
    assert max(wait.seconds for wait in among.waits) < 0.1


def test_it_is_the_same_every_time() -> None:
    once, again = scenes.watches_among_reads(10), scenes.watches_among_reads(10)
    assert once.samples == again.samples
    assert once.waits == again.waits


def test_the_drawing_has_each_trouble_and_four_lines_within_its_panels() -> None:
    root = ElementTree.fromstring(drawn(troubled()))
    text = "".join(root.itertext())
    assert all(phase.name in text for phase in TROUBLES)
    lines = [path.get("d", "") for path in root.iter(f"{SVG}path") if "line" in path.get("class", "")]
    curves = [line for line in lines if "V" in line]
    assert len(curves) == 4
    width, height = map(float, root.get("viewBox", "").split()[2:])
    for curve in curves:
        assert len(curve) < 30_000
        assert all(0 < float(x) <= width for x in re.findall(r"[MH]([\d.]+)", curve))
        assert all(0 < float(y) <= height for y in re.findall(r"V([\d.]+)", curve))
