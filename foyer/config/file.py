"""The file of `-config-file`: a key for each flag, with what one would type after it (spec 01, Process)."""

from collections.abc import Sequence
from dataclasses import replace

from foyer.config.document import MAX_BYTES, Node, Text, read
from foyer.config.flags import CONFIG_FILE, ConfigError, Flag
from foyer.config.given import Given, Sources
from foyer.config.names import nearest, shown
from foyer.net import files

MAX_SHOWN_PATH = 200


def read_keys(flags: Sequence[Flag], path: str) -> Sources:
    """The keys of the file at `path`.

    Raises `ConfigError` for a key, and `ValueError`, in words that follow "the file", for what is
    no such file at all.
    """
    try:
        content = files.read(path, MAX_BYTES)
    except files.FileError as error:
        raise ValueError(str(error)) from None
    by_key = {flag.name: flag for flag in flags if flag.name != CONFIG_FILE}
    where = _shown_path(path)
    given: Sources = {}
    for key, node in read(content).items():
        flag = by_key.get(key)
        if flag is None:
            raise ConfigError(shown(key), f"no such key in {where}{nearest(key, by_key)}")
        source = f"{key} in {where}"
        given[flag.name] = Given(_text(flag, node, source), source)
    return given


def _text(flag: Flag, node: Node, source: str) -> str:
    """What one would type after the flag for a key's value."""
    if flag.many and isinstance(node, list):
        items = [_text(replace(flag, many=False), item, source) for item in node]
        if any("," in item for item in items):
            raise ConfigError(str(flag), "should be a list of one value each, without commas", source)
        return ",".join(items)
    if not isinstance(node, Text):
        kind = "text, or a list of texts" if flag.many else "text: one value"
        raise ConfigError(str(flag), f"should be {kind}", source)
    if node.is_null:
        raise ConfigError(str(flag), "needs a value", source)
    return node.text


def _shown_path(path: str) -> str:
    """The file's name. It has been read, so this is one, and no secret that was put in its place."""
    return ascii(path if len(path) <= MAX_SHOWN_PATH else f"...{path[-MAX_SHOWN_PATH:]}")[1:-1]
