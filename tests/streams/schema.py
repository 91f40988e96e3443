"""JSON Schema as far as the krm-stream project's events are described in it.

Of another keyword this knows nothing, and says so: what is not looked at must not pass.
"""

import re
from collections.abc import Callable
from typing import Any

_WORDS = frozenset(("$schema", "$id", "$defs", "title", "description"))
"""What demands nothing."""

_TYPES: dict[str, Callable[[Any], bool]] = {
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
    "string": lambda value: isinstance(value, str),
    "boolean": lambda value: isinstance(value, bool),
    "integer": lambda value: type(value) is int,
    "null": lambda value: value is None,
}


def fits(value: Any, schema: Any, root: Any) -> bool:
    """Whether `value` is as `schema` demands, which is a part of `root`."""
    return all(
        _meets(value, keyword, demanded, root)
        for keyword, demanded in schema.items()
        if keyword not in _WORDS
    )


def _meets(value: Any, keyword: str, demanded: Any, root: Any) -> bool:
    match keyword:
        case "$ref":
            return fits(value, root["$defs"][demanded.removeprefix("#/$defs/")], root)
        case "oneOf":
            return sum(fits(value, each, root) for each in demanded) == 1
        case "type":
            return any(
                _TYPES[each](value) for each in ([demanded] if isinstance(demanded, str) else demanded)
            )
        case "const":
            return bool(value == demanded)
        case "enum":
            return value in demanded
        case "minimum":
            return bool(value >= demanded)
        case "pattern":
            return re.search(demanded, value) is not None
        case "required":
            return all(name in value for name in demanded)
        case "properties":
            return all(fits(value[name], each, root) for name, each in demanded.items() if name in value)
        case "items":
            return all(fits(each, demanded, root) for each in value)
        case _:
            raise AssertionError(f"an unknown keyword: {keyword}")
