"""The pages' assets, read once: a fixed set of paths and no listing (spec 01, Routes)."""

from dataclasses import dataclass
from importlib.resources import files
from typing import Final

_TYPES = {
    ".css": b"text/css; charset=utf-8",
    ".js": b"text/javascript; charset=utf-8",
    ".svg": b"image/svg+xml",
    ".ts": b"text/plain; charset=utf-8",  # declarations of the helper, for editors; no browser runs them
}


@dataclass(frozen=True, slots=True)
class Asset:
    """A file of the package, and the media type it is served with."""

    content_type: bytes
    content: bytes


def _load() -> dict[bytes, Asset]:
    found = {}
    for entry in files("foyer.pages").joinpath("assets").iterdir():
        _, dot, extension = entry.name.rpartition(".")
        content_type = _TYPES.get(dot + extension)
        # Whatever else a package or an editor leaves in the folder has no type, and is not served.
        if content_type is not None and not entry.name.startswith("."):
            found[b"/_foyer/" + entry.name.encode("ascii")] = Asset(content_type, entry.read_bytes())
    return found


ASSETS: Final = _load()
"""Path to asset."""
