"""One stream, and whatever an API server, a browser, a clock and a gate may do to it, in any order.

What reached the browser is the protocol, to a strict client; the upstream's side is never used after its end;
and when the stream is over nothing is left of it.
"""

from collections.abc import Callable

from hypothesis import given, settings
from hypothesis import strategies as st

from foyer.exchange.endings import Cause
from foyer.protocol.events import Failure, ResponseHead
from foyer.streams.source import State
from tests.exchange.sides import Told, Upstream
from tests.streams.following import COMPLETE, added, config_map, deleted, error, modified, page, status
from tests.streams.staged import JSON, Clocked, Staged
from tests.streams.wires import Client, events

Act = Callable[[Staged, int], None]


def _open(staged: Staged) -> Upstream | None:
    """The side of now, where one is open."""
    place = staged.clocked.places[-1]
    return place.side if place.side is not None and not place.side.over else None


def finds(staged: Staged, much: int) -> None:
    if staged.clocked.places[-1].waits:
        staged.clocked.places[-1].find()


def finds_none(staged: Staged, much: int) -> None:
    if staged.clocked.places[-1].waits:
        staged.clocked.places[-1].fail()


def answers(staged: Staged, much: int) -> None:
    side = _open(staged)
    if side is not None and not side.answered:
        code = (200, 200, 200, 200, 403, 410, 422, 503)[much % 8]
        fields = JSON if much % 9 else [(b"content-type", b"text/html")]
        side.answer(ResponseHead(code, fields, ended=much % 11 == 0))


def sends(staged: Staged, much: int) -> None:
    side = _open(staged)
    if side is None or not side.answered:
        return
    body = config_map(f"u{much % 3}", str(10 + much % 40), b'{"a":"%b"}' % (b"x" * (much % 7 * 3000)))
    lines = (added(body), modified(body), deleted(body), COMPLETE, error(410), added(b"{}"), b"nonsense")
    if staged.source.state is State.READING:
        content = (
            page([body] * (much % 120), token="more" * (much % 2)),
            status(422, "sendInitialEvents"),
            b"{",
        )[much % 3]
    else:
        content = lines[min(much % 16, len(lines) - 1) if much % 5 == 0 else much % 4] + b"\n"
    for at in range(0, len(content), side.window):
        if _open(staged) is not side or side.window <= 0:
            return
        side.content(content[at : at + side.window])


def ends(staged: Staged, much: int) -> None:
    side = _open(staged)
    if side is not None and side.answered:
        side.end()


def fails(staged: Staged, much: int) -> None:
    side = _open(staged)
    if side is not None:
        side.fail(list(Failure)[much % len(Failure)])


def goes_on(staged: Staged, much: int) -> None:
    if staged.clocked.turns:
        staged.clocked.turn()


def passes(staged: Staged, much: int) -> None:
    staged.clocked.wait(much % 40)


def takes(staged: Staged, much: int) -> None:
    staged.browser.take(much * 997)


def leaves(staged: Staged, much: int) -> None:
    if much % 8 == 0:
        staged.browser.leave()


def cuts(staged: Staged, much: int) -> None:
    if much % 8 == 0 and not staged.browser.gone:
        staged.exchange.cut(list(Cause)[much % len(Cause)])


ACTS: tuple[Act, ...] = (
    *(finds, answers, answers, sends, sends, sends, sends, goes_on, passes, takes),
    *(finds_none, ends, fails, leaves, cuts),
)
STEPS = st.lists(st.tuples(st.sampled_from(ACTS), st.integers(0, 500)), max_size=60)


@settings(max_examples=200, deadline=None)
@given(steps=STEPS, at_once=st.booleans(), streaming=st.booleans())
def test_whatever_is_done_to_it_the_wire_is_the_protocol_and_nothing_is_left(
    steps: list[tuple[Act, int]], at_once: bool, streaming: bool
) -> None:
    clocked = Clocked(at_once=at_once)
    if not streaming:
        clocked.without_streaming.add(("demo", "", "v1"))
    staged = Staged(clocked=clocked)
    for act, much in steps:
        act(staged, much)
        assert staged.services.faults == []
    staged.browser.take(1 << 40)
    whole = staged.browser.told is Told.FINISHED and not staged.browser.gone
    client = Client()
    content = bytes(staged.browser.taken)
    client.take(events(content[: content.rfind(b"\n\n") + 2] if b"\n\n" in content else b""))
    assert client.ended or not whole
    if whole:
        assert content.endswith(b"\n\n")
    staged.browser.leave()
    while clocked.turns:
        clocked.turn()
    staged.assert_nothing_is_left()
