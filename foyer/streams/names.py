"""What Kubernetes lets things be called, as far as a scope names them.

namespace             a label of RFC 1123
group                 a subdomain of RFC 1123
version, resource     a label of RFC 1035, as custom resources must have and built-in ones do
name                  a subdomain in the core group; elsewhere the group's own server decides (a role is
                      `system:node`), and what holds everywhere is that it is a segment of a path
"""

import re

_LABEL = re.compile(r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?")
_LETTER_FIRST = re.compile(r"[a-z](?:[-a-z0-9]*[a-z0-9])?")
_SEGMENT = re.compile(r"[^/%\x00-\x1F\x7F]+")

_LABEL_MOST = 63
_SUBDOMAIN_MOST = 253


def is_label(text: str) -> bool:
    """A label of RFC 1123: `0-9`, `a-z` and inner hyphens."""
    return len(text) <= _LABEL_MOST and _LABEL.fullmatch(text) is not None


def is_letter_first_label(text: str) -> bool:
    """A label of RFC 1035: like one of RFC 1123, beginning with a letter."""
    return len(text) <= _LABEL_MOST and _LETTER_FIRST.fullmatch(text) is not None


def is_subdomain(text: str) -> bool:
    """Labels between dots; the whole is bounded, not each (Kubernetes' IsDNS1123Subdomain)."""
    if len(text) > _SUBDOMAIN_MOST:
        return False
    return all(_LABEL.fullmatch(label) for label in text.split("."))


def is_path_segment(text: str) -> bool:
    """What any object's name must be, whatever its kind."""
    return text not in (".", "..") and len(text) <= _SUBDOMAIN_MOST and _SEGMENT.fullmatch(text) is not None
