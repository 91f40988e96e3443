"""The pages' assets."""

import re

from foyer.pages.assets import ASSETS


def test_the_style_sheet_and_the_mark_are_served_with_their_types() -> None:
    assert ASSETS[b"/_foyer/style.css"].content_type == b"text/css; charset=utf-8"
    assert ASSETS[b"/_foyer/mark.svg"].content_type == b"image/svg+xml"
    assert all(asset.content for asset in ASSETS.values())


def test_the_style_sheet_fetches_nothing() -> None:
    """The pages' policy would refuse it, and a page of foyer's needs nobody else."""
    assert not re.search(rb"@import|url\(", ASSETS[b"/_foyer/style.css"].content)


def test_the_style_sheet_is_for_dark_mode_and_phones_too() -> None:
    style = ASSETS[b"/_foyer/style.css"].content
    assert b"@media (prefers-color-scheme: dark)" in style
    assert b"@media (max-width:" in style


def luminance(colour: str) -> float:
    """Relative luminance (WCAG 2.2)."""
    red, green, blue = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in (red, green, blue)]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    brighter, darker = sorted((luminance(one), luminance(other)), reverse=True)
    return (brighter + 0.05) / (darker + 0.05)


def test_text_has_contrast_in_both_schemes() -> None:
    """4.5 to 1 is WCAG's AA for text of this size."""
    style = ASSETS[b"/_foyer/style.css"].content.decode()
    schemes = re.findall(r":root \{(.*?)\}", style, re.DOTALL)
    assert len(schemes) == 2
    for scheme in schemes:
        colours = dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6});", scheme))
        for text, ground in [
            ("ink", "sheet"),
            ("ink", "ground"),
            ("soft", "sheet"),
            ("accent", "sheet"),
            ("on-accent", "accent"),
        ]:
            assert contrast(colours[text], colours[ground]) >= 4.5, (text, ground)
