"""What became of one target in a fleet read, and which interruption that is (spec 06, fleet reads).

Its list is whole, or there is none of it at all: what came before a failure is not shown. An error is in
foyer's words, but for the sentence of a refusal's own `Status`; what a log may have of it is `failure`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from foyer.exchange.ports import Answer
from foyer.interruption import Interruption, Reason, StatusCause
from foyer.k8s.reviews import kind_of_status
from foyer.protocol.events import Failure
from foyer.streams import lists
from foyer.streams.lists import Listed
from foyer.streams.said import said

MAX_REFUSAL_BYTES = 64 * 1024
"""Of a refusal that is looked into for its sentence: beyond, its status alone counts."""


class Kind(Enum):
    """The outcomes there are; the value is their word in the answer."""

    OK = "ok"
    TIME_OUT = "time-out"
    NODE_ERROR = "node-error"


class Bounds(NamedTuple):
    """What one target may take: seconds for its whole list, bytes for each page of it."""

    seconds: float
    page_bytes: int


@dataclass(frozen=True, slots=True)
class Outcome:
    """One target's. `status` is of its answer, None where none came; `failure` is a kind for the log."""

    kind: Kind
    status: int | None = None
    error: str = ""
    failure: str = ""


OK = Outcome(Kind.OK, 200)

NOT_ADMITTED = Outcome(
    Kind.TIME_OUT,
    error="foyer let no more reads of this target in until the wait for that was over: nothing was sent",
    failure=Failure.NOT_ADMITTED.value,
)


def unanswered(failure: Failure, bounds: Bounds, *, first: bool) -> Outcome:
    """No whole answer came, to the `first` page or to a later one."""
    match failure:
        case Failure.TIMEOUT:
            error = f"there was no whole answer within {bounds.seconds:g} s"
        case Failure.TARGET_FULL:
            what = "nothing was sent" if first else "its next page was not asked for"
            error = f"foyer's cap on what is under way to it was full until the deadline: {what}"
        case Failure.TOO_LARGE:
            bound = f"-max-target-answer-bytes, {bounds.page_bytes}"
            return Outcome(
                Kind.NODE_ERROR, None, f"a page of its list has more bytes than {bound}", failure.value
            )
        case _:
            return Outcome(Kind.NODE_ERROR, None, f"it gave no answer ({failure.value})", failure.value)
    return Outcome(Kind.TIME_OUT, None, error, failure.value)


def judged(answer: Answer, before: str) -> Listed | Outcome:
    """The page that `answer` is, or what it is instead; the page before it said to go on with `before`."""
    status = answer.status
    if status != 200:
        message = said(answer.content).message if len(answer.content) <= MAX_REFUSAL_BYTES else ""
        error = f"it answered {status}" + (f": {message}" if message else "")
        return Outcome(Kind.NODE_ERROR, status, error, kind_of_status(status))
    if not lists.is_json(answer.fields):
        return _no_list("it answered with something else than JSON")
    listed = lists.read(answer.content)
    if listed is None:
        return _no_list("it answered with something else than a list")
    if not listed.goes_on(before):
        return _no_list("its list does not go on from page to page")
    return listed


def _no_list(why: str) -> Outcome:
    return Outcome(Kind.NODE_ERROR, 200, why, "document")


NO_OBJECT = _no_list("its list has an item that is no object with a kind, a version and a name")


def refusal(outcomes: Mapping[str, Outcome]) -> Interruption | None:
    """All or nothing: the answer that says which targets failed; None when none did."""
    failed = {name: outcome for name, outcome in outcomes.items() if outcome.kind is not Kind.OK}
    if not failed:
        return None
    causes = tuple(StatusCause(found.kind.value, name, found.error) for name, found in failed.items())
    late = [found for found in failed.values() if found.kind is Kind.TIME_OUT]
    if late:
        return Interruption(Reason.TARGET_TIMEOUT, _LATE, causes, failure=late[0].failure)
    return Interruption(Reason.TARGET_ERROR, _FAILED, causes, failure=next(iter(failed.values())).failure)


_LATE = "Not every target gave its list in time, and this was asked of all of them or none."
_FAILED = "Not every target gave its list, and this was asked of all of them or none."
