"""Representations: what a client accepts, and how content is sent (RFC 9110 section 12).

Only JSON is spoken. gzip is as in Kubernetes 1.37: for content past 128 KiB, at level 1, when
`gzip` stands in the list by itself.
"""

import gzip
from enum import Enum

from foyer.demo.apiserver.options import ListOptions
from foyer.demo.apiserver.status import ACCEPTED, not_acceptable, unsupported_media_type

GZIP_THRESHOLD = 128 * 1024
GZIP_LEVEL = 1

AGGREGATED_TYPE = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"


class Representation(Enum):
    """The shape of an answer."""

    JSON = "json"
    AGGREGATED = "aggregated"
    """Discovery of everything in one document."""


def accepted(accept: str, *, aggregated: bool = False) -> Representation:
    """The first representation in `Accept` that there is. Raises `Refused` (406)."""
    if not accept.strip():
        return Representation.JSON
    for clause in accept.split(","):
        media_type, *parameters = (part.strip() for part in clause.split(";"))
        wanted = dict(part.partition("=")[::2] for part in parameters)
        if media_type not in (ACCEPTED, "application/*", "*/*"):
            continue
        if "as" not in wanted:
            return Representation.JSON
        if aggregated and (wanted["as"], wanted.get("v")) == ("APIGroupDiscoveryList", "v2"):
            return Representation.AGGREGATED
    raise not_acceptable()


def media_type(content_type: str) -> str:
    """A Content-Type without its parameters."""
    return content_type.partition(";")[0].strip().lower()


def refuse_other_than_json(content_type: str) -> None:
    """A body without a type is taken for JSON. Raises `Refused` (415) for any other."""
    if media_type(content_type) not in ("", ACCEPTED):
        raise unsupported_media_type([ACCEPTED])


def takes_gzip(accept_encoding: str) -> bool:
    """As kube-apiserver reads the field: a parameter, even `;q=1`, is not understood."""
    return any(token.strip() == "gzip" for token in accept_encoding.split(","))


def compressed(content: bytes) -> bytes:
    """One gzip member, the same bytes for the same content."""
    return gzip.compress(content, GZIP_LEVEL, mtime=0)


def compresses_watch(options: ListOptions) -> bool:
    """Which watches are compressed: those with an end to their initial events, and no other."""
    return options.wants_initial_events
