"""Imports point one way, and the rooms that never wait import nothing that could.

Read from the source by `ast`, so that an import inside a function counts as well.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent

LEVELS = (
    {"protocol"},
    {"interruption", "bound"},
    {"gate", "session"},
    {"exchange", "admission"},
    {"login", "k8s", "identity", "streams", "fleet", "pages"},
    {"net", "config", "observe", "measures"},
    {"front", "roots", "metrics"},
    {"target"},
    {"targets"},
    {"service"},
    {"app"},
    {"demo"},
    {"cli", "__main__"},
)
"""From the bottom up. A room imports from lower levels, and from its own as long as no circle comes of it."""

LEVEL = {room: level for level, rooms in enumerate(LEVELS) for room in rooms}

WITHOUT_IO = ("protocol", "interruption", "exchange", "admission", "gate", "session")
PURE_STREAMS = (
    "alike",
    "answers",
    "budget",
    "cache",
    "cycle",
    "errors",
    "fanout",
    "gates",
    "lists",
    "look",
    "names",
    "projection",
    "reading",
    "reflector",
    "request",
    "resource",
    "revisions",
    "said",
    "scope",
    "selector",
    "server",
    "showing",
    "snapshot",
    "sse",
    "versions",
    "view",
    "watch",
)
"""The half of `streams` that decides; the other half asks the API server."""

ASKING_FLEET = ("gates", "pace", "reading")
"""The modules of `fleet` that wait."""

IO = {"asyncio", "select", "selectors", "signal", "socket", "ssl", "threading", "time", "uvloop"}


@dataclass(frozen=True)
class Import:
    """`importer` names `target`, both as dotted modules, inside `function` or at the top ("")."""

    importer: str
    target: str
    function: str

    @property
    def rooms(self) -> tuple[str, str]:
        return room(self.importer), room(self.target)


def room(module: str) -> str:
    """The part of a module's name below `foyer`; "" for `foyer` itself."""
    return module.split(".")[1] if "." in module else ""


def module_name(path: Path, root: Path) -> str:
    parts = path.relative_to(root).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imported_modules(node: ast.AST, importer: str, modules: set[str]) -> Iterator[str]:
    """The modules that an import statement names: `from a import b` is `a.b` where that is a module."""
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        assert node.level == 0, f"{importer} imports relatively"
        for alias in node.names:
            below = f"{node.module}.{alias.name}"
            yield below if below in modules else str(node.module)


def imports_of(path: Path, root: Path, modules: set[str]) -> Iterator[Import]:
    importer = module_name(path, root)

    def walk(node: ast.AST, function: str) -> Iterator[Import]:
        for target in imported_modules(node, importer, modules):
            yield Import(importer, target, function)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not function:
            function = node.name
        for child in ast.iter_child_nodes(node):
            yield from walk(child, function)

    yield from walk(ast.parse(path.read_text(), str(path)), "")


def read_imports(root: Path) -> list[Import]:
    paths = sorted((root / "foyer").rglob("*.py"))
    modules = {module_name(path, root) for path in paths}
    return [found for path in paths for found in imports_of(path, root, modules)]


def own(imports: list[Import]) -> list[Import]:
    return [found for found in imports if found.target.split(".")[0] == "foyer" and room(found.target)]


def wrong_way(imports: list[Import]) -> list[Import]:
    """Imports of a higher level. `foyer/__init__.py` is below everything: it imports nothing of foyer."""
    found = []
    for edge in own(imports):
        importer, target = edge.rooms
        if importer != target and LEVEL.get(importer, -1) < LEVEL[target]:
            found.append(edge)
    return found


def waits(imports: list[Import]) -> list[Import]:
    def pure(module: str) -> bool:
        parts = module.split(".")
        match parts[1:2]:
            case ["streams"]:
                return parts[-1] in PURE_STREAMS
            case ["fleet"]:
                return parts[-1] not in ASKING_FLEET
            case _:
                return room(module) in WITHOUT_IO

    return [edge for edge in imports if pure(edge.importer) and edge.target.split(".")[0] in IO]


def demo_leaks(imports: list[Import]) -> list[Import]:
    """Imports of the demonstration from anywhere but the function of `foyer.cli` that runs it."""
    return [
        edge
        for edge in own(imports)
        if room(edge.target) == "demo"
        and room(edge.importer) != "demo"
        and not (edge.importer == "foyer.cli" and "demo" in edge.function)
    ]


IMPORTS = read_imports(ROOT)


def test_every_room_has_a_level() -> None:
    assert {room(edge.importer) for edge in IMPORTS} - {""} <= LEVEL.keys()


def test_imports_point_one_way() -> None:
    assert wrong_way(IMPORTS) == []


def test_rooms_of_one_level_import_each_other_in_no_circle() -> None:
    graph: dict[str, set[str]] = {}
    for edge in own(IMPORTS):
        importer, target = edge.rooms
        if importer != target:
            graph.setdefault(importer, set()).add(target)
    TopologicalSorter(graph).prepare()


def test_what_decides_imports_nothing_that_waits() -> None:
    assert waits(IMPORTS) == []


def test_only_the_demo_command_imports_the_demonstration() -> None:
    assert demo_leaks(IMPORTS) == []


@pytest.mark.parametrize(
    ("path", "source", "rule"),
    [
        ("protocol/h1.py", "from foyer.exchange import ports", wrong_way),
        ("gate/rate.py", "def f():\n    import foyer.net.tls", wrong_way),
        ("gate/rate.py", "import time", waits),
        ("session/seal.py", "def f():\n    from asyncio import sleep", waits),
        ("streams/cycle.py", "import ssl", waits),
        ("fleet/oldest.py", "import asyncio", waits),
        ("cli.py", "from foyer import demo", demo_leaks),
        ("cli.py", "def serve():\n    import foyer.demo.issuer", demo_leaks),
        ("app.py", "from foyer.demo.issuer import Issuer", demo_leaks),
    ],
)
def test_an_import_against_a_rule_is_found(tmp_path: Path, path: str, source: str, rule: object) -> None:
    for module in ("exchange/ports", "net/tls", "demo/__init__", "demo/issuer"):
        target = tmp_path / "foyer" / f"{module}.py"
        target.parent.mkdir(parents=True, exist_ok=True)
        target.touch()
    culprit = tmp_path / "foyer" / path
    culprit.parent.mkdir(parents=True, exist_ok=True)
    culprit.write_text(source)
    assert callable(rule)
    assert len(rule(read_imports(tmp_path))) == 1


def test_the_demo_command_itself_may_import_it(tmp_path: Path) -> None:
    (tmp_path / "foyer" / "demo").mkdir(parents=True)
    (tmp_path / "foyer" / "demo" / "__init__.py").touch()
    (tmp_path / "foyer" / "cli.py").write_text("def demo():\n    from foyer import demo as it")
    assert demo_leaks(read_imports(tmp_path)) == []
