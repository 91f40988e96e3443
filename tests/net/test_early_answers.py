"""An HTTP/2 answer that is whole before its request: that has a moment to end, then the stream is reset.

RFC 9113 section 8.1 lets a server reset such a stream with NO_ERROR; clients are known that take it for an
error of the answer's, and with a small request there is no need.
"""

import pytest

from tests.net.test_browser_clocks import Browser
from tests.support.raw_frames import POST, PREFACE, data, frames, headers, settings


class Early:
    """A browser whose request was answered and has not ended."""

    def __init__(self) -> None:
        self.browser = Browser("h2")
        self.browser.bring(PREFACE + settings() + headers(1, POST, end=False))
        self.browser.answer()
        self.seen = self.resets()

    def resets(self) -> list[str]:
        """The RST_STREAM frames that came since it was last asked."""
        return [str(frame) for frame in frames(self.browser.take()) if str(frame).startswith("RST_STREAM")]


def test_the_answer_of_a_request_that_has_not_ended_brings_no_reset_with_it() -> None:
    assert Early().seen == []


def test_a_request_that_ends_within_the_moment_is_never_reset() -> None:
    early = Early()
    early.browser.bring(data(1, b"{}", end=True))
    early.browser.wait(5)
    assert early.resets() == []


def test_one_that_does_not_is_reset_without_an_error() -> None:
    early = Early()
    early.browser.bring(data(1, b"{"))
    early.browser.wait(3)
    assert early.resets() == ["RST_STREAM 1 NO_ERROR"]


def test_one_that_has_more_than_a_window_to_say_is_reset_at_once() -> None:
    early = Early()
    for _ in range(5):
        early.browser.bring(data(1, bytes(16_384)))
    assert early.resets() == ["RST_STREAM 1 NO_ERROR"]


@pytest.mark.parametrize("ends", [True, False])
def test_a_connection_of_such_requests_alone_becomes_idle_as_any(ends: bool) -> None:
    early = Early()
    if ends:
        early.browser.bring(data(1, b"{}", end=True))
    early.browser.ends_after(75)
