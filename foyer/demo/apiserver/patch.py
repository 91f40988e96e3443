"""JSON Patch (RFC 6902) and JSON Merge Patch (RFC 7396).

Both return a new value and leave the old one as it was. `PatchFailed` is a patch that cannot
be applied to this document, `MalformedPatch` one that is no patch at all.
"""

import copy
from collections.abc import Sequence
from typing import Any

from foyer.demo.apiserver import document

MAX_OPERATIONS = 10_000
"""Operations in one JSON Patch, as in Kubernetes."""

MAX_COPIED = 3 * 1024 * 1024
"""Bytes of JSON that one patch may copy: a few dozen copies of a value into itself would fill any memory."""


class MalformedPatch(Exception):
    """The document is no patch."""


class PatchFailed(Exception):
    """An operation does not fit the document, or a test failed."""


def merge_patch(target: Any, patch: Any) -> Any:
    """RFC 7396 section 2, word for word."""
    if not isinstance(patch, dict):
        return patch
    merged = dict(target) if isinstance(target, dict) else {}
    for name, value in patch.items():
        if value is None:
            merged.pop(name, None)
        else:
            merged[name] = merge_patch(merged.get(name), value)
    return merged


def json_patch(target: Any, operations: Any) -> Any:
    """RFC 6902: every operation in turn, or none of them."""
    if not isinstance(operations, list) or not all(isinstance(each, dict) for each in operations):
        raise MalformedPatch("a JSON patch is a list of objects")
    if len(operations) > MAX_OPERATIONS:
        raise MalformedPatch(f"more than {MAX_OPERATIONS} operations")
    root = copy.deepcopy(target)
    copied = 0
    for operation in operations:
        if operation.get("op") == "copy":
            copied += len(document.write(_find(root, _pointer(operation, "from"))))
            if copied > MAX_COPIED:
                raise PatchFailed(f"more than {MAX_COPIED} bytes copied")
        root = _apply(root, operation)
    return root


def _apply(root: Any, operation: dict[str, Any]) -> Any:
    path = _pointer(operation, "path")
    match operation.get("op"):
        case "add":
            return _add(root, path, _value(operation))
        case "remove":
            return _remove(root, path)
        case "replace":
            _find(root, path)
            return _set(root, path, _value(operation))
        case "move":
            source = _pointer(operation, "from")
            moved = _find(root, source)
            if path[: len(source)] == source and path != source:
                raise PatchFailed("a value cannot be moved into itself")
            return _add(_remove(root, source), path, moved)
        case "copy":
            return _add(root, path, copy.deepcopy(_find(root, _pointer(operation, "from"))))
        case "test":
            if not equal(_find(root, path), _value(operation)):
                raise PatchFailed("test failed")
            return root
        case _:
            raise PatchFailed("unknown operation")


def _value(operation: dict[str, Any]) -> Any:
    if "value" not in operation:
        raise PatchFailed("missing value")
    return copy.deepcopy(operation["value"])


def _pointer(operation: dict[str, Any], member: str) -> list[str]:
    """A JSON Pointer's reference tokens (RFC 6901)."""
    text = operation.get(member)
    if not isinstance(text, str) or (text and not text.startswith("/")):
        raise PatchFailed(f"{member} is no JSON pointer")
    return [token.replace("~1", "/").replace("~0", "~") for token in text.split("/")[1:]]


def _find(root: Any, path: Sequence[str]) -> Any:
    for token in path:
        match root:
            case dict() if token in root:
                root = root[token]
            case list():
                root = root[_index(token, len(root) - 1)]
            case _:
                raise PatchFailed("no such member")
    return root


def _index(token: str, last: int) -> int:
    """An array index (RFC 6901 section 4): digits without a leading zero, at most `last`."""
    if not token.isascii() or not token.isdigit() or (token[0] == "0" and token != "0") or len(token) > 9:
        raise PatchFailed("no array index")
    if int(token) > last:
        raise PatchFailed("array index out of bounds")
    return int(token)


def _add(root: Any, path: Sequence[str], value: Any) -> Any:
    if not path:
        return value
    parent, token = _find(root, path[:-1]), path[-1]
    match parent:
        case dict():
            parent[token] = value
        case list():
            parent.insert(len(parent) if token == "-" else _index(token, len(parent)), value)
        case _:
            raise PatchFailed("no such member")
    return root


def _set(root: Any, path: Sequence[str], value: Any) -> Any:
    if not path:
        return value
    parent, token = _find(root, path[:-1]), path[-1]
    if isinstance(parent, dict):
        parent[token] = value
    else:
        parent[_index(token, len(parent) - 1)] = value
    return root


def _remove(root: Any, path: Sequence[str]) -> Any:
    if not path:
        raise PatchFailed("the whole document cannot be removed")
    _find(root, path)
    parent, token = _find(root, path[:-1]), path[-1]
    if isinstance(parent, dict):
        del parent[token]
    else:
        del parent[_index(token, len(parent) - 1)]
    return root


def equal(one: Any, other: Any) -> bool:
    """RFC 6902 section 4.6: JSON equality, where true is not 1 and 1.0 is."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(equal(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(equal, one, other))
    return one == other and (type(one) is type(other) or _both_numbers(one, other))


def _both_numbers(one: Any, other: Any) -> bool:
    return isinstance(one, int | float) and isinstance(other, int | float)
