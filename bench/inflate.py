"""Which engine decodes gzip: foyer's module against what else it could have been built on.

Two loads: a long list in one member, stepped as the relay does, and a watch, one small member
an event. CPU time, best of several rounds taken in turn; only ratios within one run count.
ISA-L itself joins where its headers are installed (Debian: libisal-dev): it is what linking
would give.
"""

import ctypes
import json
import random
import subprocess
import tempfile
import time
import zlib
from collections.abc import Callable
from pathlib import Path

from isal import isal_zlib

from bench.report import Report
from foyer_native.inflate import Inflater

READ = 16 * 1024
"""Compressed bytes that arrive at a time."""

STEP = 64 * 1024
"""Decoded bytes taken at a time."""

ROUNDS = 5

Engine = Callable[[list[bytes]], int]
"""Decodes the members, each whole gzip of some size, and returns how many bytes came out."""

LINKED = r"""
#include <isa-l/igzip_lib.h>

static struct inflate_state state;
static unsigned char window[65536];

/* One member, in reads: what a module linked with ISA-L would do, decoding into a window of its own. */
long long member(unsigned char *data, long long size, long long read) {
    long long at = 0, decoded = 0;
    isal_inflate_init(&state);
    state.crc_flag = ISAL_GZIP;
    while (state.block_state != ISAL_BLOCK_FINISH) {
        if (state.avail_in == 0) {
            state.next_in = data + at;
            state.avail_in = size - at < read ? size - at : read;
            at += state.avail_in;
        }
        do {
            state.next_out = window;
            state.avail_out = sizeof window;
            if (isal_inflate(&state) != ISAL_DECOMP_OK) return -1;
            decoded += sizeof window - state.avail_out;
        } while (state.avail_out == 0);
    }
    return decoded;
}
"""


def pod(source: random.Random, number: int) -> dict[str, object]:
    """An object of about 500 bytes as JSON, as repetitive as a list of Pods."""
    return {
        "metadata": {
            "name": f"web-{source.getrandbits(40):x}",
            "namespace": f"team-{number % 37}",
            "uid": f"{source.getrandbits(128):032x}",
            "resourceVersion": str(source.getrandbits(30)),
            "labels": {"app": "web", "pod-template-hash": f"{source.getrandbits(36):x}"},
        },
        "spec": {
            "nodeName": f"node-{number % 50}",
            "containers": [{"name": "web", "image": "web:1.2.3", "resources": {"limits": {"cpu": "500m"}}}],
        },
        "status": {
            "phase": "Running",
            "podIP": f"10.{number % 255}.3.4",
            "startTime": "2025-01-01T00:00:00Z",
        },
    }


def gzip_member(content: bytes) -> bytes:
    # Level 1 is the API server's.
    return zlib.compress(content, 1, zlib.MAX_WBITS + 16)


def a_list(count: int) -> list[bytes]:
    source = random.Random(1)
    items = [pod(source, number) for number in range(count)]
    return [gzip_member(json.dumps({"kind": "PodList", "items": items}).encode())]


def a_watch(count: int) -> list[bytes]:
    source = random.Random(2)
    events = ({"type": "MODIFIED", "object": pod(source, number)} for number in range(count))
    return [gzip_member(json.dumps(event).encode() + b"\n") for event in events]


def reads(member: bytes) -> list[bytes]:
    return [member[at : at + READ] for at in range(0, len(member), READ)]


def module(members: list[bytes]) -> int:
    inflater = Inflater()
    for member in members:
        for read in reads(member):
            inflater.feed(read)
            while inflater.step(STEP):
                pass
    inflater.finish()
    return inflater.decoded


def stepped(new_decoder: Callable[[int], "zlib._Decompress | isal_zlib.Decompress"]) -> Engine:
    """The engine's own gzip reading and CRC, with the least Python around it."""

    def decode(members: list[bytes]) -> int:
        decoded = 0
        for member in members:
            decoder = new_decoder(zlib.MAX_WBITS + 16)
            for read in reads(member):
                rest = read
                while rest:
                    decoded += len(decoder.decompress(rest, STEP))
                    rest = decoder.unconsumed_tail
            while not decoder.eof:
                decoded += len(decoder.decompress(b"", STEP))
        return decoded

    return decode


def linked(folder: Path) -> Engine | None:
    """ISA-L called from C, or None where it cannot be built."""
    source, library = folder / "linked.c", folder / "linked.so"
    source.write_text(LINKED)
    build = ["cc", "-O2", "-shared", "-fPIC", str(source), "-o", str(library), "-lisal"]
    try:
        subprocess.run(build, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    function = ctypes.CDLL(str(library)).member
    function.restype = ctypes.c_longlong
    function.argtypes = [ctypes.c_char_p, ctypes.c_longlong, ctypes.c_longlong]

    def decode(members: list[bytes]) -> int:
        return sum(function(member, len(member), READ) for member in members)

    return decode


def best_times(engines: dict[str, Engine], members: list[bytes]) -> tuple[dict[str, float], int]:
    """Seconds of CPU for each engine, best of the rounds, and the decoded size they agree on."""
    best = dict.fromkeys(engines, float("inf"))
    sizes = set()
    for _ in range(ROUNDS):
        for name, engine in engines.items():
            begun = time.process_time()
            sizes.add(engine(members))
            best[name] = min(best[name], time.process_time() - begun)
    assert len(sizes) == 1, "the engines disagree"
    return best, sizes.pop()


def measure(objects: int, events: int, report: Report) -> None:
    """Fills a table for a list of so many objects and one for a watch of so many events."""
    with tempfile.TemporaryDirectory() as folder:
        engines: dict[str, Engine] = {
            "foyer_native": module,
            "isal, stepped": stepped(isal_zlib.decompressobj),
            "zlib, stepped": stepped(zlib.decompressobj),
        }
        if (isal := linked(Path(folder))) is not None:
            engines["ISA-L, linked"] = isal
        for load, members in (("list", a_list(objects)), ("watch", a_watch(events))):
            best, size = best_times(engines, members)
            packed = sum(map(len, members))
            title = f"gzip, a {load}: {size / 1e6:.0f} MB, {size / packed:.1f}:1"
            table = report.table(title, ["of ours", "MB/s", "µs/member"])
            for name, seconds in best.items():
                rate, each = size / seconds / 1e6, seconds / len(members) * 1e6
                table.row(name, [best["foyer_native"] / seconds, rate, each], ".2f")


if __name__ == "__main__":
    measure(50_000, 20_000, Report())
