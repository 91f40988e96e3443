"""Which revision of a redacted value a stream has shown (spec 05, Projections).

A page cannot see a redacted value, so its revision says when it is another. It is a stream's own, and holds
across the stream's cycles: an object that went out of the scope and came back goes on where it was.
"""

from __future__ import annotations

from array import array
from itertools import islice
from typing import NamedTuple

from foyer.streams.redactions import Redaction, Redactions

ABSENT_MOST = 1000
"""Objects that are gone whose revisions are remembered: they may come back (a label that comes and goes),
and nothing grows without bound."""

GONE_MOST = 100
"""Values of one object that are gone and remembered in the same way: one whose keys have a new name each time
would otherwise be remembered with all that it ever had."""


class _Values(NamedTuple):
    """Of one object: what they were, those that are gone first, and the revision of each."""

    last: Redactions
    revisions: array[int]


class Revisions:
    """Of each redacted value the last digest and its revision, by uid."""

    __slots__ = ("_absent", "_present")

    def __init__(self) -> None:
        self._present: dict[str, _Values] = {}
        self._absent: dict[str, _Values] = {}

    def show(self, uid: str, redactions: Redactions) -> list[tuple[bytes, int]]:
        """The path and the revision of each of these values of the object, which is now shown."""
        known = self._present.get(uid) or self._absent.pop(uid, _NOTHING)
        gone = {path: (digest, number) for (path, digest), number in zip(*known, strict=True)}
        shown: list[tuple[bytes, int]] = []
        for path, digest in redactions:
            last, revision = gone.pop(path, (digest, 1))
            shown.append((path, revision + (digest != last)))
        self._present[uid] = _values(gone, redactions, shown)
        return shown

    def leave(self, uid: str) -> None:
        """The object is gone."""
        values = self._present.pop(uid, None)
        if values is not None:
            self._absent[uid] = values
            self._forget()

    def begin(self) -> None:
        """A cycle begins: nothing is there until it is shown again."""
        self._absent.update(self._present)
        self._present = {}

    def complete(self) -> None:
        """The cycle is complete: what was not shown in it is gone."""
        self._forget()

    def _forget(self) -> None:
        while len(self._absent) > ABSENT_MOST:
            del self._absent[next(iter(self._absent))]


def _values(
    gone: dict[bytes, tuple[bytes, int]], redactions: Redactions, shown: list[tuple[bytes, int]]
) -> _Values:
    """What is remembered. The same redactions serve for all streams that show them."""
    revisions = array("Q", [revision for _, revision in shown])
    if not gone:
        return _Values(redactions, revisions)
    kept = list(islice(gone.items(), max(0, len(gone) - GONE_MOST), None))
    last = [Redaction(path, digest) for path, (digest, _) in kept]
    return _Values(
        Redactions([*last, *redactions]), array("Q", [number for _, (_, number) in kept]) + revisions
    )


_NOTHING = _Values(Redactions(), array("Q"))
