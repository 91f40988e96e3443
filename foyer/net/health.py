"""Whether a server is there, as exchanges with it show: nothing is sent to find out (spec 06, Overload).

Pure, and for whoever reports it: `now` is given.
"""

from foyer.protocol.events import Failure

_NOT_THERE = frozenset((Failure.CONNECTION, Failure.TLS, Failure.TIMEOUT, Failure.PROTOCOL))
"""By these it has not been asked. A reset or a GOAWAY is said by a server that is there; an answer that broke
off had begun."""


class Health:
    """One server's: what was heard last.

    It is up when the last that was heard was an answer, whatever its status: an API server answers for others
    (an aggregated API, a webhook), and anybody can ask for one that is broken. None as long as nothing was
    heard.
    """

    __slots__ = ("failed_at", "failure", "succeeded_at", "up")

    def __init__(self) -> None:
        self.up: bool | None = None
        self.succeeded_at: float | None = None
        """Seconds, the clock of `now`: the last answer below 500."""
        self.failed_at: float | None = None
        self.failure = ""
        """The last failure's kind: a `Failure`'s word, or a status from 500 as `status_503`."""

    def answered(self, status: int, now: float) -> None:
        """A response head came."""
        self.up = True
        if status < 500:
            self.succeeded_at = now
        else:
            self._failed(f"status_{status}" if status < 600 else Failure.PROTOCOL.value, now)

    def failed(self, failure: Failure, now: float) -> None:
        """An exchange ended before it was whole, and not by whoever asked."""
        if failure in _NOT_THERE:
            self.up = False
        self._failed(failure.value, now)

    def _failed(self, kind: str, now: float) -> None:
        self.failure = kind
        self.failed_at = now
