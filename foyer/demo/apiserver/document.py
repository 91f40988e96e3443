"""JSON in and out, as the API server reads and writes it (RFC 8259).

Reading is strict where Python's parser is not: UTF-8 only, no NaN or Infinity, no number that
would overflow into one. Writing is compact, with a fixed order of keys.
"""

import json
import math
from typing import Any, TypeAlias

Object: TypeAlias = dict[str, Any]
"""A JSON object. One that is stored is never changed again: changes are made to a copy."""


class Malformed(Exception):
    """The bytes are no JSON. The message says why, without repeating them."""


def _finite(literal: str) -> float:
    number = float(literal)
    if not math.isfinite(number):
        raise ValueError("number out of range")
    return number


def _no_constant(literal: str) -> float:
    raise ValueError(f"invalid literal {literal}")


def read(content: bytes) -> Any:
    """The JSON value of `content`. Raises `Malformed`."""
    if not content:
        raise Malformed("unexpected end of JSON input")
    try:
        return json.loads(content.decode(), parse_float=_finite, parse_constant=_no_constant)
    except RecursionError:
        raise Malformed("exceeded max depth") from None
    except UnicodeDecodeError:
        raise Malformed("invalid UTF-8") from None
    except json.JSONDecodeError as error:
        raise Malformed(f"{error.msg} at offset {error.pos}") from None
    except ValueError as error:
        raise Malformed(str(error)) from None


def write(value: Any, *, ordered: bool = False) -> bytes:
    """Compact JSON. `ordered` sorts the keys, as Kubernetes writes custom resources.

    A lone surrogate, which JSON can spell and UTF-8 cannot, becomes a question mark.
    """
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False, sort_keys=ordered)
    return text.encode(errors="replace")


def go_type(value: Any) -> str:
    """What Go's decoder calls a JSON value in its messages."""
    match value:
        case bool():
            return "bool"
        case str():
            return "string"
        case int() | float():
            return "number"
        case list():
            return "array"
        case dict():
            return "object"
        case _:
            return "null"
