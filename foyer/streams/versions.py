"""Resource versions, as far as they have an order (Kubernetes, "Resource versions").

A decimal of any size: of two the longer is greater, and of two of one length the one that comes later in
the alphabet. Anything else can only be told from another, and says so by not being `orderable`.
"""

import re

_DECIMAL = re.compile(r"[1-9][0-9]*")


def orderable(version: str) -> bool:
    """Whether `version` has a place in the order."""
    # What int() takes is more than is meant, and it will not take 4,301 digits.
    return _DECIMAL.fullmatch(version) is not None


def older(version: str, than: str) -> bool:
    """Whether `version` is from before `than`; never where one of them has no place in the order."""
    return (len(version), version) < (len(than), than) and orderable(version) and orderable(than)


def newer_or_unordered(version: str, than: str) -> bool:
    """Whether `version` may be from after `than`."""
    return (len(version), version) > (len(than), than) or not (orderable(version) and orderable(than))
