"""Names that somebody wrote and nobody knows: shown safely, beside the one that was likely meant."""

import difflib
from collections.abc import Iterable

MAX_SHOWN = 60


def shown(name: str) -> str:
    """A name for a message: short, and with nothing unprintable in it."""
    return ascii(name[:MAX_SHOWN])[1:-1]


def nearest(name: str, known: Iterable[str], prefix: str = "") -> str:
    """`; did you mean …?` with the known name that is most like it, or nothing."""
    near = difflib.get_close_matches(name[:MAX_SHOWN], sorted(known), n=1)
    return f"; did you mean {prefix}{near[0]}?" if near else ""
