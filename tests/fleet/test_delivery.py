"""A fleet list on its way to the browser: as it takes it, and nothing held any longer than that."""

import json
from contextlib import ExitStack

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foyer.exchange.endings import BrowserGone, Cause, Complete, CutShort, Ending
from foyer.exchange.exchange import Exchange
from foyer.exchange.ports import HIGH_WATER
from foyer.fleet import merged, outcome
from foyer.fleet.delivery import _slices, deliver
from foyer.fleet.merged import Merged
from foyer.fleet.objects import Entry
from foyer.fleet.position import Position
from foyer.fleet.reading import Read
from foyer.protocol.events import RequestHead
from tests.exchange.sides import Browser, Services, Told


class Scene:
    """An exchange that is given a list of so many items of so many bytes each."""

    def __init__(
        self, items: int = 3, size: int = 100, *, truncated: bool = False, method: bytes = b"GET"
    ) -> None:
        text = json.dumps({"text": "x" * size}).encode()
        entries = [Entry(Position("", "eu", "", f"{number}"), text) for number in range(items)]
        self.list = Merged({"eu": outcome.OK}, entries, None, truncated)
        self.services, self.browser = Services(), Browser()
        self.exchange = Exchange(self.services, self.browser, RequestHead(method, b"/fleet/v1/api", []))
        self.given_back = 0
        held = ExitStack()
        held.callback(self._give_back)
        deliver(self.exchange, Read(self.list, held), 10.0, content=method != b"HEAD")

    def _give_back(self) -> None:
        self.given_back += 1

    @property
    def whole(self) -> bytes:
        return b"".join(merged.pieces(self.list))

    def field(self, name: bytes) -> list[bytes]:
        assert self.browser.head is not None
        return self.browser.head.all(name)

    def take(self) -> None:
        """The browser takes all that there ever is."""
        while self.browser.queued:
            self.browser.take(10_000)


def test_a_list_is_delivered_whole_with_its_length_and_gives_back_what_was_held() -> None:
    scene = Scene()
    scene.take()
    assert bytes(scene.browser.taken) == scene.whole
    assert scene.field(b"content-length") == [b"%d" % len(scene.whole)]
    assert (scene.services.endings, scene.given_back) == ([Complete(200)], 1)


def test_it_is_data_and_nothing_that_a_cache_may_keep() -> None:
    scene = Scene()
    assert scene.field(b"content-type") == [b"application/json"]
    assert scene.field(b"x-content-type-options") == [b"nosniff"]
    assert scene.field(b"content-security-policy") == [b"default-src 'none'; sandbox"]
    assert scene.field(b"cache-control") == [b"no-store"]
    assert scene.browser.write_timeout == 10.0


@pytest.mark.parametrize("truncated", [True, False])
def test_a_list_that_was_cut_says_so_in_its_head_as_well(truncated: bool) -> None:
    scene = Scene(truncated=truncated)
    assert scene.field(b"krm-foyer-truncated") == ([b"true"] if truncated else [])


def test_a_browser_that_takes_nothing_holds_little_of_it() -> None:
    scene = Scene(items=100, size=10_000)
    assert HIGH_WATER < scene.browser.queued <= 3 * HIGH_WATER
    assert scene.given_back == 0
    scene.take()
    assert bytes(scene.browser.taken) == scene.whole
    assert scene.given_back == 1


@pytest.mark.parametrize(
    ("end", "ending"),
    [
        ("gone", BrowserGone()),
        ("logged out", CutShort(Cause.SESSION_ENDED)),
        ("too long", CutShort(Cause.RESPONSE_DURATION)),
        ("stalled", CutShort(Cause.WRITE_TIMEOUT)),
    ],
)
def test_one_that_ends_early_is_cut_and_gives_back_what_was_held_at_once(end: str, ending: Ending) -> None:
    scene = Scene(items=100, size=10_000)
    exchange = scene.exchange
    {
        "gone": scene.browser.leave,
        "logged out": exchange.session_ended,
        "too long": exchange.duration_reached,
        "stalled": exchange.browser_stalled,
    }[end]()
    assert scene.given_back == 1
    assert scene.services.endings == [ending]
    assert scene.browser.told is not Told.FINISHED


def test_to_a_head_the_head_is_all_and_nothing_is_held() -> None:
    scene = Scene(method=b"HEAD")
    scene.browser.take(1)
    assert scene.field(b"content-length") == [b"%d" % len(scene.whole)]
    assert (bytes(scene.browser.taken), scene.given_back) == (b"", 1)
    assert scene.services.endings == [Complete(200)]


def test_a_fault_before_its_head_gives_back_what_was_held() -> None:
    given_back: list[bool] = []
    held = ExitStack()
    held.callback(given_back.append, True)
    nobodys = [Entry(Position("", "eu", "", "one"), b"{}")]
    exchange = Exchange(Services(), Browser(), RequestHead(b"GET", b"/fleet/v1/api", []))
    with pytest.raises(KeyError):
        deliver(exchange, Read(Merged({}, nobodys, None, False), held), 10.0, content=True)
    assert given_back == [True]


@given(st.lists(st.integers(0, 3 * HIGH_WATER).map(bytes), max_size=8))
def test_slices_are_the_same_bytes_and_none_is_large(pieces: list[bytes]) -> None:
    slices = list(_slices(pieces))
    assert b"".join(slices) == b"".join(pieces)
    assert all(0 < len(each) <= HIGH_WATER for each in slices)
