"""gzip (RFC 1952) in steps: see `inflate.pyx`."""

from typing import Final, Literal

Kind = Literal["truncated", "junk", "crc", "length", "corrupt"]

STEP: Final[int]
"""The most that one step returns, in bytes: 64 KiB."""

class GzipError(ValueError):
    """The content is not whole gzip.

    `kind` says how: `truncated` ended inside a member, `junk` followed the last one, `crc` and
    `length` are a trailer that does not fit what was decoded, `corrupt` is anything else.
    """

    kind: Kind
    def __init__(self, kind: Kind) -> None: ...

class Inflater:
    """Decodes the gzip members of one content, a bounded step at a time.

    Feed it, step until `b""`, and call `finish` once the input has ended.
    """

    def feed(self, data: bytes) -> None:
        """Add compressed input. It is held by reference until it is decoded, never copied whole."""

    def step(self, limit: int) -> bytes:
        """The next decoded bytes, at most `limit` and at most `STEP`; `b""` once more input is needed.

        Raises `GzipError` when everything before the fault has been returned (of `corrupt`
        data, everything but what the faulty few KiB would still have given), and from then on
        each time; `ValueError` for a `limit` below 1.
        """

    def finish(self) -> None:
        """The input has ended, and `step` gave `b""`.

        Raises `GzipError("truncated")` inside a member, the fault that `step` raised after one.
        No member at all is fine: empty content is empty.
        """

    @property
    def pending(self) -> int:
        """Compressed bytes fed and not yet consumed."""

    @property
    def decoded(self) -> int:
        """Decoded bytes returned so far, over all members."""

    @property
    def resting(self) -> bool:
        """Between two members: no decoder is held."""
