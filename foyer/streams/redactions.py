"""Values that are there and are not shown: where, and a digest that tells whether one has changed.

A Secret of a thousand small values is a few kilobytes of text and would be three hundred of objects; streams
and caches keep what they have redacted, so it is kept packed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

SIZE = 16
"""Bytes of a digest."""


class Redaction(NamedTuple):
    """One value: its JSON pointer as a JSON string in ASCII, and its digest."""

    path: bytes
    digest: bytes


class Redactions:
    """Some of one object, in their order."""

    __slots__ = ("_digests", "_paths")

    def __init__(self, redactions: Iterable[Redaction] = ()) -> None:
        every = list(redactions)
        self._paths = b"\n".join([redaction.path for redaction in every])  # which JSON has to escape
        self._digests = b"".join([redaction.digest for redaction in every])

    def __len__(self) -> int:
        return len(self._digests) // SIZE

    def __iter__(self) -> Iterator[Redaction]:
        digests = self._digests
        for number, path in enumerate(self._paths.split(b"\n") if self else ()):
            yield Redaction(path, digests[number * SIZE : (number + 1) * SIZE])

    @property
    def packed(self) -> bytes:
        """All of it: equal for equal ones alone."""
        return b"%b\n\n%b" % (self._paths, self._digests)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Redactions) and self.packed == other.packed
