"""The documents: links that lead somewhere, and a table of rooms that is the code's."""

import re
from itertools import pairwise
from pathlib import Path

import pytest

from tests.test_imports import LEVEL

ROOT = Path(__file__).parents[1]
DOCUMENTS = [
    ROOT / "README.md",
    *(ROOT / "docs").glob("*.md"),
    *(document for folder in ("deploy", "examples") for document in (ROOT / folder).rglob("*.md")),
]


def anchors(document: Path) -> set[str]:
    """The headings, as the places that a link can name."""
    headings = re.findall(r"^#+ (.*)$", document.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_link_within_the_project_leads_somewhere(document: Path) -> None:
    for link in re.findall(r"\]\(([^)\s]+)\)", document.read_text()):
        if "://" in link:
            continue
        name, _, anchor = link.partition("#")
        target = document.parent / name if name else document
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link


def test_the_table_of_rooms_has_each_of_them() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text()
    there = {path.stem for path in (ROOT / "foyer").iterdir() if path.suffix == ".py" or path.is_dir()}
    rooms = {name for name in there if not name.startswith("_")}
    assert set(re.findall(r"^\| `foyer/(\w+)` \|", text, re.MULTILINE)) == rooms


def test_the_line_of_imports_names_rooms_from_the_top_down() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text()
    [line] = re.findall(r"^    (cli → .*\n.*)$", text, re.MULTILINE)
    steps = [re.findall(r"\w+", step) for step in line.split("→")]
    levels = [{LEVEL[room] for room in step} for step in steps]
    assert all(min(above) >= max(below) for above, below in pairwise(levels)), steps
