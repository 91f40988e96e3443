"""Whole exchanges at random: both sides do whatever they may, in each pairing, over sockets.

After each step, whatever has reached a browser is the beginning of what the API server sent, an upload's of
what the browser sent, and a clean end says that it is all of it; a request has gone up once at most. At the
end, whatever nothing has disturbed comes to its whole end, and then nothing is left of any of it: no
exchange, no slot, no place upstream, no byte of a window, no deadline, no task, no descriptor.

`FUZZ_SECONDS` in the environment lets each pairing go on for so long, with other examples every time.
"""

import os
import time
from collections.abc import Callable, Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from foyer.app import Foyer
from foyer.exchange.endings import Cause
from tests.net.sockets import descriptors
from tests.support.browsers import H1Browser, H2Browser, H2Exchange
from tests.support.leaks import Leaks
from tests.support.pairings import Pairing, Product, Products
from tests.support.remains import OF_CONNECTIONS, OF_EXCHANGES, left
from tests.support.script import OverdueError
from tests.support.traffic import Ongoing, Traffic

METHODS = ("GET", "POST", "POST", "HEAD")
LENGTHS = (None, 0, 5, 300_000)
SIZES = (1, 3, 6, 100, 8191, 70_001, 300_000, 300_003)
JUMPS = (5.0, 20.0, 70.0, 4000.0)
NOISE = b"\0\0\0\0\xff\n\n\n\n\0\0\0\x01\0\0\0\0"

MOST_BROWSERS = 3
MOST_EXCHANGES = 10

Act = Callable[[Traffic, int, int], None]
"""Something that somebody does: who, of those that can, and how much of it. Nothing where nobody can."""


def _act_of(may: Callable[[Ongoing], bool], do: Callable[[Traffic, Ongoing, int], object]) -> Act:
    """What is done to one of the exchanges to which it may be done."""

    def act(traffic: Traffic, which: int, much: int) -> None:
        found = [ongoing for ongoing in traffic.all if may(ongoing)]
        if found:
            do(traffic, found[which % len(found)], much)

    return act


def _by_a_browser(do: Callable[[Traffic, H1Browser | H2Browser, int], object]) -> Act:
    def act(traffic: Traffic, which: int, much: int) -> None:
        if living := traffic.living():
            do(traffic, living[which % len(living)], much)

    return act


def asks(traffic: Traffic, which: int, much: int) -> None:
    """The usual thing: so there is a browser for it, where there may be another."""
    free = traffic.free()
    if (not free or which > 5) and len(traffic.living()) < MOST_BROWSERS:
        traffic.connect()
        free = traffic.free()
    if free and len(traffic.all) < MOST_EXCHANGES:
        length = LENGTHS[much % len(LENGTHS)]
        traffic.ask(free[which % len(free)], METHODS[which % len(METHODS)], length)


def responds(traffic: Traffic, ongoing: Ongoing, much: int) -> None:
    ongoing.respond(length=LENGTHS[much % len(LENGTHS)], gzip=much % 3 == 0)


def reads_or_not(traffic: Traffic, browser: H1Browser | H2Browser, much: int) -> None:
    browser.go_on_reading() if much % 2 else browser.stop_reading()


def stream_reads_or_not(traffic: Traffic, ongoing: Ongoing, much: int) -> None:
    exchange = ongoing.exchange
    assert isinstance(exchange, H2Exchange)
    exchange.go_on_reading() if much % 2 else exchange.stop_reading()


def upstream_reads_or_not(traffic: Traffic, ongoing: Ongoing, much: int) -> None:
    assert ongoing.request is not None
    ongoing.request.go_on_reading() if much % 2 else ongoing.request.stop_reading()


def leaves(traffic: Traffic, browser: H1Browser | H2Browser, much: int) -> None:
    """RST, FIN with and without close_notify, and the socket's close."""
    traffic.disturb(traffic.of_browser(browser))
    traffic.leaving.add(browser)
    wire = browser.wire
    (wire.drop, wire.finish, wire.cut, wire.close)[much % 4]()


def makes_noise(traffic: Traffic, browser: H1Browser | H2Browser, much: int) -> None:
    """What is no HTTP of either version, unless a declared length makes it content (RFC 9112 section 6.3)."""
    traffic.disturb(traffic.of_browser(browser))
    traffic.leaving.add(browser)
    traffic.noisy.add(browser)
    for ongoing in traffic.of_browser(browser):
        if ongoing.length is not None and ongoing.may_upload and isinstance(browser, H1Browser):
            ongoing.upload += NOISE[: ongoing.length - len(ongoing.upload)]
    browser.wire.send(NOISE)


def upstream_leaves(traffic: Traffic, ongoing: Ongoing, much: int) -> None:
    assert ongoing.request is not None
    traffic.disturb(traffic.of_connection(ongoing))
    wire = ongoing.request.connection.wire
    (wire.drop, wire.finish, wire.cut)[much % 3]()


def accepts_or_not(traffic: Traffic, which: int, much: int) -> None:
    """New connections are left in the kernel: whoever needs one waits."""
    traffic.pairing.upstream.silent = which % 2 == 0


def cuts(traffic: Traffic, which: int, much: int) -> None:
    """A logout, and the end of a drain."""
    cause = (Cause.SESSION_ENDED, Cause.SHUTDOWN)[much % 2]
    foyer = traffic.foyer

    def cut() -> None:
        for exchange in foyer.front.open_exchanges:
            exchange.cut(cause)

    traffic.disturb(traffic.all)
    traffic.pairing.product.ask(cut)


def _is_stream(ongoing: Ongoing) -> bool:
    return isinstance(ongoing.exchange, H2Exchange) and ongoing.browser_lives


def _upstream_lives(ongoing: Ongoing) -> bool:
    return ongoing.upstream_lives


def _may_be_given_up(ongoing: Ongoing) -> bool:
    return ongoing.upstream_lives and not ongoing.whole


CALM: dict[str, tuple[int, Act]] = {
    "asks": (8, asks),
    "sends up": (6, _act_of(lambda x: x.may_upload, lambda _, x, much: x.send_up(much))),
    "ends its upload": (3, _act_of(lambda x: x.may_upload, lambda _, x, much: x.finish_upload())),
    "responds": (8, _act_of(lambda x: x.may_answer, responds)),
    "sends down": (8, _act_of(lambda x: x.may_send, lambda _, x, much: x.send_down(much))),
    "ends its answer": (4, _act_of(lambda x: x.may_send, lambda _, x, much: x.finish_answer())),
    "a browser reads or not": (4, _by_a_browser(reads_or_not)),
    "a stream reads or not": (4, _act_of(_is_stream, stream_reads_or_not)),
    "the upstream reads or not": (4, _act_of(_upstream_lives, upstream_reads_or_not)),
    "the upstream accepts or not": (1, accepts_or_not),
    "a browser gives up": (2, _act_of(lambda x: x.browser_lives, lambda traffic, x, _: traffic.give_up(x))),
    "foyer drains": (1, lambda traffic, which, much: traffic.drain()),
}
"""What happens all the time, each so often. Whatever is not given up comes to its end."""

TROUBLE: dict[str, tuple[int, Act]] = {
    "a browser leaves": (2, _by_a_browser(leaves)),
    "a browser makes noise": (2, _by_a_browser(makes_noise)),
    "the upstream gives up": (2, _act_of(_may_be_given_up, lambda traffic, x, _: traffic.abandon(x))),
    "the upstream leaves": (2, _act_of(_upstream_lives, upstream_leaves)),
    "the upstream goes away": (2, _act_of(_upstream_lives, lambda traffic, x, _: traffic.say_goodbye(x))),
    "time passes": (1, lambda traffic, which, _: traffic.pass_time(JUMPS[which % len(JUMPS)])),
    "foyer cuts": (1, cuts),
}

ACTS = CALM | TROUBLE

Step = tuple[str, int, int, bool]
"""The act, who, how much, and whether all that comes of it has come before the next."""


def _steps(acts: dict[str, tuple[int, Act]]) -> st.SearchStrategy[list[Step]]:
    names = [name for name, (weight, _) in acts.items() for _ in range(weight)]
    step = st.tuples(
        st.sampled_from(names),
        st.integers(0, 7),
        st.sampled_from(SIZES),
        st.sampled_from([True, True, False]),
    )
    return st.lists(step, min_size=15, max_size=45)


STEPS = _steps(CALM) | _steps(ACTS)


def play(pairing: Pairing, steps: list[Step]) -> None:
    """One example, from nothing to nothing."""
    sockets = descriptors()
    traffic = Traffic(pairing)
    try:
        for name, which, much, settled in steps:
            if name == "asks":
                traffic.settle()  # what has ended, or is ending, is known to who asks
            _, act = ACTS[name]
            act(traffic, which, much)
            if settled:
                traffic.settle()
                traffic.look()
            else:
                traffic.turn()
        traffic.finish()
        traffic.give_everything_up()
        _nothing_is_left(traffic, OF_EXCHANGES)
    finally:
        traffic.close()
    _nothing_is_left(traffic, OF_CONNECTIONS)
    assert descriptors() - sockets == set()


def _nothing_is_left(traffic: Traffic, counted: dict[str, Callable[[Foyer], int]]) -> None:
    foyer, product = traffic.foyer, traffic.pairing.product

    def found() -> dict[str, int]:
        return product.ask(lambda: left(foyer, counted))

    try:
        traffic.pairing.script.until(lambda: not found(), "nothing to be left")
    except OverdueError:
        assert found() == {}


@pytest.fixture
def product(products: Products, upstream_version: str) -> Iterator[Product]:
    """A foyer of its own: its clock is moved, and it looks for no issuer, by sockets that come and go."""
    product = products.start(upstream_version, True, {})
    product.ask(product._foyer._discovery.cancel)
    yield product
    products.upstream(upstream_version).retire()
    product.stop()


FUZZ_SECONDS = float(os.environ.get("FUZZ_SECONDS", "0"))

QUICK = settings(
    max_examples=50,
    derandomize=True,
    database=None,
    deadline=None,
    report_multiple_bugs=False,
    suppress_health_check=list(HealthCheck),
)

LONGER = settings(QUICK, derandomize=False, max_examples=100)


def test_whatever_happens_nobody_is_deceived_and_nothing_is_left(
    browser_version: str, upstream_version: str, products: Products, product: Product
) -> None:
    def examples(how: settings) -> None:
        @how
        @given(STEPS)
        def example(steps: list[Step]) -> None:
            upstream = products.upstream(upstream_version)
            play(Pairing(browser_version, upstream, product, Leaks(), tls=True), steps)

        example()

    examples(QUICK)
    until = time.monotonic() + FUZZ_SECONDS
    while time.monotonic() < until:
        examples(LONGER)
