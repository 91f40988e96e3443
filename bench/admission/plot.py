"""The drawing of the troubled server: its limit, and what becomes of the reads. SVG without any script.

Drawn with the colours of the reader's scheme, light or dark. Lines differ in more than their colour.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape

from bench.admission.scenes import TROUBLED_ENDS, TROUBLES, Phase
from bench.admission.simulated import Ending, Target

WIDTH, HEIGHT = 720, 150
"""Of a panel's axes, in the drawing's units."""

LEFT, TOP, GAP, RIGHT, BOTTOM = 46, 34, 42, 14, 46

STYLE = """
    .paper{fill:#fff} text{fill:#24292f} .axis{stroke:#57606a} .grid{stroke:#d8dee4} .trouble{fill:#eff2f5}
    .one{stroke:#0b6e4f} .two{stroke:#b3541e} .line{fill:none;stroke-width:1.6}
    @media (prefers-color-scheme:dark){
    .paper{fill:#0d1117} text{fill:#e6edf3} .axis{stroke:#8b949e} .grid{stroke:#30363d} .trouble{fill:#1c2128}
    .one{stroke:#3fb98f} .two{stroke:#f0975a}}
"""
"""Each text and line 4.5:1 or more upon its paper."""

BIN = 1.0
"""Seconds of reads that are counted together."""

Points = Sequence[tuple[float, float]]


def drawn(target: Target) -> str:
    """The whole drawing."""
    width, height = LEFT + WIDTH + RIGHT, TOP + 2 * HEIGHT + GAP + BOTTOM
    second = TOP + HEIGHT + GAP
    limit: Points = [(sample.at, sample.limit) for sample in target.samples]
    in_flight: Points = [(sample.at, sample.in_flight) for sample in target.samples]
    done = _a_second(target, lambda ending: ending is Ending.ANSWERED)
    not_done = _a_second(target, lambda ending: ending is not Ending.ANSWERED)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif"'
        ' font-size="11" role="img">',
        "<title>The read limit of an API server that is slow, refuses connections, falls silent and meets a"
        " burst</title>",
        f"<style>{STYLE}</style>",
        f'<rect class="paper" width="{width}" height="{height}"/>',
        *(_trouble(phase, second + HEIGHT) for phase in TROUBLES),
        *_panel(TOP, 256, {"reads that may be admitted": limit, "slots taken": in_flight}),
        *_panel(second, 800, {"answered, a second": done, "refused or failed, a second": not_done}),
        *(_text(_x(at), second + HEIGHT + 15, str(at), "middle") for at in range(0, int(TROUBLED_ENDS), 20)),
        _text(LEFT + WIDTH, second + HEIGHT + 15, "seconds", "end"),
    ]
    return "\n".join([*parts, "</svg>", ""])


def _a_second(target: Target, which: Callable[[Ending], bool]) -> Points:
    counts = [0] * int(TROUBLED_ENDS / BIN)
    for reader in target.readers:
        if reader.ending is not None and reader.ended_at is not None and which(reader.ending):
            counts[min(int(reader.ended_at / BIN), len(counts) - 1)] += 1
    return [((number + 0.5) * BIN, value / BIN) for number, value in enumerate(counts)]


def _trouble(phase: Phase, bottom: float) -> str:
    """Its time behind both panels, and its name above them."""
    begins, wide = _x(phase.begins), max(1.5, _x(phase.ends) - _x(phase.begins))
    box = f'<rect class="trouble" x="{begins:.1f}" y="{TOP}" width="{wide:.1f}" height="{bottom - TOP:.1f}"/>'
    return box + _text(begins + wide / 2, TOP - 8, phase.name, "middle")


def _panel(top: float, most: float, lines: dict[str, Points]) -> list[str]:
    bottom = top + HEIGHT
    parts = [f'<path class="axis" d="M{LEFT} {top}V{bottom}H{LEFT + WIDTH}" fill="none"/>']
    for quarter in range(5):
        y = bottom - HEIGHT * quarter / 4
        if quarter:
            parts.append(f'<path class="grid" d="M{LEFT} {y:.1f}H{LEFT + WIDTH}"/>')
        parts.append(_text(LEFT - 6, y + 4, f"{most * quarter / 4:g}", "end"))
    for number, (name, points) in enumerate(lines.items()):
        kind = ("one", "two")[number]
        dashes = ' stroke-dasharray="4 2"' if number else ""
        parts.append(f'<path class="line {kind}" d="{_path(points, bottom, most)}"{dashes}/>')
        x, y = LEFT + 190 * number, bottom + 34 - 10 * (top == TOP)
        parts.append(f'<path class="line {kind}" d="M{x} {y - 4}h22"{dashes}/>')
        parts.append(_text(x + 28, y, name, "start"))
    return parts


def _path(points: Points, bottom: float, most: float) -> str:
    """A line in steps: what is drawn held until the next point."""
    steps: list[str] = []
    last: float | None = None
    for at, value in points:
        y = round(bottom - HEIGHT * min(value, most) / most, 1)
        if y != last:
            steps.append(f"H{_x(at):.1f}V{y:g}" if steps else f"M{_x(at):.1f} {y:g}")
            last = y
    return "".join(steps) + f"H{_x(TROUBLED_ENDS):.1f}"


def _x(at: float) -> float:
    return LEFT + WIDTH * at / TROUBLED_ENDS


def _text(x: float, y: float, text: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'
