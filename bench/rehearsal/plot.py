"""The drawing of a run: how many one change has reached, as time goes by. SVG without any script.

A panel for each kind, a line for each server over each version: of the run's changes the one in the middle.
"""

from collections.abc import Sequence
from html import escape

from bench.messages import H1
from bench.rehearsal.kinds import Kind
from bench.rehearsal.rounds import Found
from bench.rehearsal.rows import Servers

WIDTH, HEIGHT = 290, 190
"""Of a panel's axes, in the drawing's units."""

LEFT, TOP, GAP, BOTTOM = 46, 34, 30, 64

COLOURS = {"foyer": "#0b6e4f", "goref": "#b3541e"}
"""4.5:1 or more upon white; a dashed line is HTTP/1.1, so colour is not all that tells."""

POINTS = 100

Panel = tuple[Kind, Servers]


def drawn(panels: Sequence[Panel]) -> str:
    """The whole drawing."""
    width = LEFT + len(panels) * (WIDTH + GAP)
    height = TOP + HEIGHT + BOTTOM
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif"'
        ' font-size="11" role="img">',
        f"<title>How many of {_count(panels)} one change has reached, over time</title>",
        f'<rect width="{width}" height="{height}" fill="#fff"/>',
    ]
    last = max(_slowest(found) for _, servers in panels for found in servers.values())
    scale = _round_up(last * 1000)
    for number, (kind, servers) in enumerate(panels):
        parts += _panel(LEFT + number * (WIDTH + GAP), kind, servers, scale, named=not number)
    names = list(dict.fromkeys(key for _, servers in panels for key in servers))
    parts += _legend(names, height)
    return "\n".join([*parts, "</svg>", ""])


def _count(panels: Sequence[Panel]) -> int:
    return len(_typical(next(iter(panels[0][1].values()))))


def _panel(left: int, kind: Kind, servers: Servers, scale: float, *, named: bool) -> list[str]:
    bottom = TOP + HEIGHT
    parts = [
        f'<text x="{left}" y="{TOP - 14}" font-weight="bold">{escape(kind.value.name)}</text>',
        f'<path d="M{left} {TOP}V{bottom}H{left + WIDTH}" fill="none" stroke="#555"/>',
    ]
    for quarter in range(5):
        x, y = left + WIDTH * quarter / 4, bottom - HEIGHT * quarter / 4
        parts.append(f'<path d="M{left} {y:.1f}H{left + WIDTH}" stroke="#ddd"/>' if quarter else "")
        parts.append(_text(x, bottom + 15, f"{scale * quarter / 4:g}", "middle"))
        if named:
            parts.append(_text(left - 6, y + 4, f"{25 * quarter} %", "end"))
    parts.append(_text(left + WIDTH / 2, bottom + 30, "ms after the change", "middle"))
    for (name, version), found in servers.items():
        points = " ".join(
            f"{left + WIDTH * seconds * 1000 / scale:.1f},{bottom - HEIGHT * part:.1f}"
            for seconds, part in _steps(_typical(found))
        )
        parts.append(f'<polyline points="{points}" fill="none" {_stroke(name, version)}/>')
    return [part for part in parts if part]


def _legend(names: Sequence[tuple[str, str]], height: int) -> list[str]:
    parts = []
    for number, (name, version) in enumerate(names):
        x, y = LEFT + number * 130, height - 14
        parts.append(f'<path d="M{x} {y - 4}h26" {_stroke(name, version)}/>')
        parts.append(_text(x + 32, y, f"{name} over {version}", "start"))
    return parts


def _stroke(name: str, version: str) -> str:
    dashes = ' stroke-dasharray="5 3"' if version == H1 else ""
    return f'stroke="{COLOURS[name]}" stroke-width="1.8"{dashes}'


def _text(x: float, y: float, text: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'


def _typical(found: Found) -> list[float]:
    """Each one's seconds, of the change in the middle."""
    changes = sorted(found.reached, key=lambda times: times[-1])
    return sorted(changes[len(changes) // 2])


def _slowest(found: Found) -> float:
    return _typical(found)[-1]


def _steps(times: Sequence[float]) -> list[tuple[float, float]]:
    """After so many seconds, which part: a hundred of them are enough for a line."""
    count = len(times)
    at = sorted({0, count - 1, *(round((count - 1) * number / POINTS) for number in range(POINTS + 1))})
    return [(0.0, 0.0), *((times[number], (number + 1) / count) for number in at)]


def _round_up(value: float) -> float:
    """The next that is easily divided by four."""
    return next(
        (step for step in (20, 40, 60, 80, 100, 120, 160, 200, 300, 400, 800) if step >= value), value
    )
