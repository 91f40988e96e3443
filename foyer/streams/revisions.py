"""Which revision of a redacted value a stream has shown (spec 05, Projections).

A page cannot see a redacted value, so its revision says when it is another. It is a stream's own, and holds
across the stream's cycles: an object that went out of the scope and came back goes on where it was.
"""

from collections.abc import Iterator
from itertools import islice

from foyer.streams.projection import Redaction

ABSENT_MOST = 1000
"""Objects that are gone whose revisions are remembered: they may come back (a label that comes and goes),
and nothing grows without bound."""

GONE_MOST = 100
"""Values of one object that are gone and remembered in the same way: one whose keys have a new name each time
would otherwise be remembered with all that it ever had."""

_Values = dict[bytes, tuple[bytes, int]]


class Revisions:
    """Of each redacted value the last digest and its revision, by uid and path."""

    __slots__ = ("_absent", "_present")

    def __init__(self) -> None:
        self._present: dict[str, _Values] = {}
        self._absent: dict[str, _Values] = {}

    def show(self, uid: str, redactions: tuple[Redaction, ...]) -> Iterator[tuple[bytes, int]]:
        """The path and the revision of each of these values of the object, which is now shown."""
        values = self._present.get(uid)
        if values is None:
            values = self._present[uid] = self._absent.pop(uid, {})
        for path, digest in redactions:
            last, revision = values.pop(path, (digest, 1))
            values[path] = digest, revision + (digest != last)  # behind those that are gone
            yield path, values[path][1]
        gone = len(values) - len(redactions)
        if gone > GONE_MOST:
            for path in list(islice(values, gone - GONE_MOST)):
                del values[path]

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
