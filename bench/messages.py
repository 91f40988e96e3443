"""The small signed-in GET as bytes: what a browser sends, and what an API server answers.

Prepared before anything is timed, in both versions. HPACK is what browsers and Go make of it: every
field is indexed that can be, so that from the second request on a header block is a few bytes. The
answers' audit IDs differ, as the API server's do.
"""

import json
import os
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum

import hpack

from foyer.protocol.events import Fields

H1, H2 = "h1", "h2"
VERSIONS = (H1, H2)

SMALL_PATH = b"/api/v1/namespaces/default/configmaps/note"
SMALL_BYTES = 765
"""Of JSON, as in the figures this is compared with."""

AUTHORITY = b"foyer.example.test"

EVENT_BYTES = 500

END_STREAM = ACK = 1
END_HEADERS = 4

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

_WIDE = 2**31 - 1  # the widest window: no update is ever needed


class Type(IntEnum):
    """HTTP/2's frame types (RFC 9113 section 6)."""

    DATA = 0
    HEADERS = 1
    PRIORITY = 2
    RST_STREAM = 3
    SETTINGS = 4
    PING = 6
    GOAWAY = 7
    WINDOW_UPDATE = 8
    CONTINUATION = 9


def small_object() -> bytes:
    """A ConfigMap of `SMALL_BYTES`."""
    metadata = {"name": "note", "namespace": "default", "uid": "0f5c", "resourceVersion": "41"}
    bare = {"kind": "ConfigMap", "apiVersion": "v1", "metadata": metadata, "data": {"text": ""}}
    bare["data"] = {"text": "x" * (SMALL_BYTES - len(json.dumps(bare)))}
    return json.dumps(bare).encode()


def an_event(number: int) -> bytes:
    """One change of a watch, and a line."""
    bare = b'{"type":"MODIFIED","object":{"metadata":{"resourceVersion":"%d"},"data":"' % number
    return bare + b"x" * (EVENT_BYTES - len(bare) - 4) + b'"}}\n'


def browser_fields(cookie: bytes) -> Fields:
    """What a browser sends beside the request line; no cookie where there is none."""
    fields = [
        (b"user-agent", b"Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"),
        (b"accept", b"application/json"),
        (b"accept-language", b"en-GB,en;q=0.5"),
        (b"accept-encoding", b"gzip, deflate, br"),
    ]
    return [*fields, (b"cookie", cookie)] if cookie else fields


def answer_fields(length: int, audit_id: bytes) -> Fields:
    """What kube-apiserver sends beside the status."""
    return [
        (b"audit-id", audit_id),
        (b"cache-control", b"no-cache, private"),
        (b"content-type", b"application/json"),
        (b"x-kubernetes-pf-flowschema-uid", b"5f1b7f2e-7e55-4f5e-9a4c-0d5b0a7f3a11"),
        (b"x-kubernetes-pf-prioritylevel-uid", b"0c1e7a64-9f0e-4c3e-8a58-7b8b0a4f3b22"),
        (b"date", b"Mon, 30 Nov 2026 02:00:00 GMT"),
        (b"content-length", b"%d" % length),
    ]


def audit_ids(count: int) -> list[bytes]:
    """So many audit IDs, in the shape of a UUID."""
    found = [os.urandom(16).hex() for _ in range(count)]
    return [f"{x[:8]}-{x[8:12]}-{x[12:16]}-{x[16:20]}-{x[20:]}".encode() for x in found]


@dataclass(frozen=True, slots=True)
class Requests:
    """A browser's connection: what opens it, and its requests in order (on HTTP/2 streams 1, 3, …)."""

    opening: bytes
    head: bytes
    first_head: bytes

    def each(self) -> Iterator[bytes]:
        """The requests, without end."""
        if not self.opening:
            while True:
                yield self.head
        yield self.request(1)
        stream = 3
        while True:
            yield self.request(stream)
            stream += 2

    def request(self, stream: int) -> bytes:
        """The request on an HTTP/2 stream."""
        block = self.first_head if stream == 1 else self.head
        return frame(Type.HEADERS, END_HEADERS | END_STREAM, stream, block)


def requests(version: str, target: bytes, authority: bytes, cookie: bytes) -> Requests:
    """GETs of `target` with a session's cookie."""
    fields = browser_fields(cookie)
    if version == H1:
        lines = b"".join(b"%s: %s\r\n" % field for field in [(b"host", authority), *fields])
        head = b"GET %s HTTP/1.1\r\n%s\r\n" % (target, lines)
        return Requests(b"", head, head)
    pseudo = [(b":method", b"GET"), (b":scheme", b"https"), (b":authority", authority), (b":path", target)]
    encoder = hpack.Encoder()
    first = encoder.encode([*pseudo, *fields])
    settled = encoder.encode([*pseudo, *fields])
    opening = PREFACE + settings(initial_window=_WIDE) + window_update(0)
    return Requests(opening, settled, first)


def answers(version: str, content: bytes, ids: list[bytes]) -> tuple[bytes, list[bytes]]:
    """What opens an API server's connection, and its answers in order, one for each of `ids`."""
    heads = [answer_fields(len(content), each) for each in ids]
    if version == H1:
        lines = [b"".join(b"%s: %s\r\n" % field for field in head) for head in heads]
        return b"", [b"HTTP/1.1 200 OK\r\n%s\r\n%s" % (each, content) for each in lines]
    encoder = hpack.Encoder()
    blocks = [encoder.encode([(b":status", b"200"), *head]) for head in heads]
    made = [
        frame(Type.HEADERS, END_HEADERS, stream, block) + frame(Type.DATA, END_STREAM, stream, content)
        for stream, block in zip(range(1, 2 * len(ids), 2), blocks, strict=True)
    ]
    return settings(max_streams=100) + window_update(0) + SETTINGS_ACK, made


def frame(kind: int, flags: int, stream: int, payload: bytes) -> bytes:
    """An HTTP/2 frame (RFC 9113 section 4.1)."""
    return len(payload).to_bytes(3, "big") + struct.pack(">BBL", kind, flags, stream) + payload


def settings(*, initial_window: int = 65535, max_streams: int = 100) -> bytes:
    """A SETTINGS frame."""
    return frame(Type.SETTINGS, 0, 0, struct.pack(">HLHL", 3, max_streams, 4, initial_window))


def window_update(stream: int) -> bytes:
    """Opens a window as far as it goes from its first size."""
    return frame(Type.WINDOW_UPDATE, 0, stream, struct.pack(">L", _WIDE - 65535))


SETTINGS_ACK = frame(Type.SETTINGS, ACK, 0, b"")
