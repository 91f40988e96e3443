"""The file of `-targets-file` (spec 06, Targets and fleet reads): the API servers, in the order they are in.

Every refusal is a `ValueError` in words that follow "the file", as `foyer.config.keys` has them, with the
target's place in the list.
"""

from collections.abc import Callable, Mapping
from typing import TypeVar

from foyer.config import contents, values
from foyer.config.document import Node, read
from foyer.config.keys import members_at, refused, text_at
from foyer.config.parts import TargetConfig

T = TypeVar("T")

MAX_TARGETS = 100
"""A fleet read asks each of them: more is another kind of program."""


def parse(content: bytes) -> tuple[TargetConfig, ...]:
    """What the file's content says. Raises `ValueError`."""
    nodes = members_at("", read(content), ("targets",)).get("targets")
    if not isinstance(nodes, list) or not 0 < len(nodes) <= MAX_TARGETS:
        raise refused("targets", f"should be a list of 1 to {MAX_TARGETS} targets")
    found: dict[str, TargetConfig] = {}
    for at, node in enumerate(nodes):
        target = _target(f"targets[{at}]", node)
        if target.name in found:
            raise refused(f"targets[{at}].name", "is the name of a target before it, and should be its own")
        found[target.name] = target
    return tuple(found.values())


def check_files(targets: tuple[TargetConfig, ...]) -> None:
    """Looks into the files that targets name, as into those that flags name. Raises `ValueError`."""
    for at, target in enumerate(targets):
        if target.ca_file is not None:
            _check(f"targets[{at}].caFile", contents.check_certificates, target.ca_file)
        if target.shared_token_file is not None:
            _check(f"targets[{at}].sharedWatchTokenFile", contents.check_token, target.shared_token_file)


def _target(key: str, node: Node) -> TargetConfig:
    given = members_at(key, node, ("name", "server", "caFile", "sharedWatchTokenFile"))
    for needed in ("name", "server"):
        if needed not in given:
            raise refused(f"{key}.{needed}", "needed, and not given")
    return TargetConfig(
        name=_parsed(f"{key}.name", values.label, given["name"]),
        server=_parsed(f"{key}.server", values.origin, given["server"]),
        ca_file=_path(key, "caFile", given),
        shared_token_file=_path(key, "sharedWatchTokenFile", given),
    )


def _check(key: str, look: Callable[[str], object], file: str) -> None:
    try:
        look(file)
    except ValueError as error:
        raise refused(key, f"the file {error}") from None


def _path(key: str, name: str, given: Mapping[str, Node]) -> str | None:
    return _parsed(f"{key}.{name}", values.path, given[name]) if name in given else None


def _parsed(key: str, parse: Callable[[str], T], node: Node) -> T:
    text = text_at(key, node)
    try:
        return parse(text)
    except ValueError as error:
        raise refused(key, str(error)) from None
