"""JSON text (RFC 8259) taken apart without being decoded: see `jsontext.pyx`."""

from collections.abc import Iterator

def compact(text: bytes) -> bytes | None:
    """`text` without the whitespace between its tokens, itself where there is none; None: it is no JSON.

    Strict: UTF-8 well-formed, no control character in a string, one value, at most 10,000 levels deep.
    Escapes are checked for their form alone, so that half a surrogate pair passes. Never raises.
    """

def members(text: bytes, names: tuple[str, ...], at: int = 0) -> dict[str, tuple[int, int, int]]:
    """Where the members with these names are, of the object that begins at `at` in `text`, which is compact.

    By name, however it is spelled, and in the order of `names`, eight at most and in ASCII: where the name's
    quote is, where the value begins, where it ends. Of members with one name the last counts, as for whoever
    decodes JSON (and as everywhere in Kubernetes and in browsers). Raises `ValueError` where no object
    begins, or it does not end.
    """

def without(text: bytes, names: tuple[str, ...], begin: int, end: int) -> bytes:
    """The members between `begin` and `end` without all that have one of these names, as `members` has them.

    They are a part of one object in `text`, which is compact, with or without a comma before them and behind
    them; what is returned has commas only between them. Raises `ValueError` where no members are there.
    """

def pairs(text: bytes, at: int = 0) -> Iterator[tuple[str, int, int]]:
    """Each member of the object that begins at `at` in `text`, which is compact, as it is asked for.

    The name, decoded, and where the value begins and ends; one name as often as it is there. Raises
    `ValueError` where no object begins, or it does not end.
    """

def elements(text: bytes, at: int = 0) -> Iterator[tuple[int, int]]:
    """Where each element of the array that begins at `at` in `text`, which is compact, begins and ends.

    As it is asked for. Raises `ValueError` where no array begins, or it does not end.
    """

def measure(text: bytes, at: int = 0) -> tuple[int, int]:
    """How many `elements` there are, and how many bytes they have between them. Raises as that does."""
