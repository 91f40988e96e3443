"""JSON text (RFC 8259) taken apart without being decoded: see `jsontext.pyx`."""

def compact(text: bytes) -> bytes | None:
    """`text` without the whitespace between its tokens, itself where there is none; None: it is no JSON.

    Strict: UTF-8 well-formed, no control character in a string, one value, at most 10,000 levels deep.
    Escapes are checked for their form alone, so that half a surrogate pair passes. Never raises.
    """

def members(text: bytes, at: int = 0) -> dict[str, tuple[int, int, int]]:
    """Where the members are of the object that begins at `at` in `text`, which is compact.

    By decoded name: where the name's quote is, where the value begins, where it ends. Of members with one
    name the last counts, as for whoever decodes JSON (and as everywhere in Kubernetes and in browsers).
    Raises `ValueError` where no object begins, or it does not end.
    """

def elements(text: bytes, at: int = 0) -> list[tuple[int, int]]:
    """Where the elements of the array that begins at `at` in `text`, which is compact, begin and end.

    Raises `ValueError` where no array begins, or it does not end.
    """
