"""A document's members, each refused by its whole key: `targets[2].server`.

For files that say more than a value a key. Every refusal is a `ValueError` in words that follow "the file":
it names the key, says what should be there, and never repeats a value.
"""

from collections.abc import Collection

from foyer.config.document import Node, Text, members
from foyer.config.names import nearest, shown


def refused(key: str, problem: str) -> ValueError:
    """The refusal of what stands at `key`."""
    return ValueError(f"is wrong at {key}: {problem}")


def mapping_at(key: str, node: Node) -> dict[str, Node]:
    """The members at `key`, by whatever name. Raises `ValueError`."""
    found = members(node)
    if found is None:
        raise refused(key, "should be a mapping, with keys of its own below it, or left out")
    return found


def members_at(key: str, node: Node, known: Collection[str]) -> dict[str, Node]:
    """The members at `key`, all of them `known`. The document itself has the key "". Raises `ValueError`."""
    given = mapping_at(key, node)
    for name in given:
        if name not in known:
            raise refused(f"{key}.{shown(name)}".lstrip("."), f"no such key{nearest(name, known)}")
    return given


def text_at(key: str, node: Node) -> str:
    """The text at `key`, as it was written and not empty. Raises `ValueError`."""
    if not isinstance(node, Text) or node.is_null or not node.text:
        raise refused(key, "should be text, and not empty")
    return node.text
