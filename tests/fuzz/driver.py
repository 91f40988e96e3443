"""One target under libFuzzer, by way of atheris: inputs that reach something new are kept and mutated on.

    python -m tests.fuzz.driver NAME SECONDS INPUTS SEED FOUND

A process of its own, because libFuzzer ends the process that it runs in, with an exit status other than
0 when a check has raised, an input took too long, or memory ran out. The input is then in the folder FOUND.
"""

import importlib
import random
import sys
import tempfile
from pathlib import Path
from typing import Any

from tests.fuzz.target import Target

INSTRUMENTED = ["foyer", "tests.support", "h11", "h2", "hpack", "hyperframe"]
"""Packages whose branches are seen. What is compiled is not: its twins in Python are, beside it."""

DRAWN = 300
"""Inputs of a target's grammar to begin with."""

SLOWEST = 10
"""Seconds that one input may take. They take microseconds; a machine may be busy with something else."""

MEMORY = 1024
"""MiB of the process. It has 100 without an input."""


def main(name: str, seconds: int, inputs: int, seed: int, found: str) -> None:
    """Never returns. As soon as there were so many seconds or inputs, it ends; -1 is no end."""
    atheris = importlib.import_module("atheris")
    with atheris.instrument_imports(include=INSTRUMENTED):
        target: Target = importlib.import_module("tests.fuzz.targets").TARGETS[name]
    with tempfile.TemporaryDirectory() as folder:
        options: dict[str, object] = {
            "max_total_time": seconds,
            "runs": inputs,
            "seed": seed,
            "max_len": target.longest,
            "len_control": 0,
            "timeout": SLOWEST,
            "rss_limit_mb": MEMORY,
            "artifact_prefix": f"{found}/",
            "verbosity": 0,
            "print_final_stats": 1,
        }
        if target.words:
            options["dict"] = _dictionary(target, Path(folder))
        arguments = [f"-{option}={value}" for option, value in options.items()]
        mutator = {} if target.mutate is None else {"custom_mutator": _mutator(target.mutate, atheris)}
        atheris.Setup([name, *arguments, _corpus(target, Path(folder), seed)], target.check, **mutator)
        atheris.Fuzz()


def _corpus(target: Target, folder: Path, seed: int) -> str:
    corpus = folder / "corpus"
    corpus.mkdir()
    for number, each in enumerate(target.corpus(DRAWN, seed)):
        (corpus / f"{number:04}").write_bytes(each)
    return str(corpus)


def _dictionary(target: Target, folder: Path) -> str:
    path = folder / "words"
    path.write_text(
        "".join('"' + "".join(f"\\x{octet:02x}" for octet in word) + '"\n' for word in target.words)
    )
    return str(path)


def _mutator(mutate: Any, atheris: Any) -> Any:
    def plain(data: bytes, most: int) -> bytes:
        return bytes(atheris.Mutate(data, most))

    def mutated(data: bytes, most: int, seed: int) -> bytes:
        made: bytes = mutate(data, most, random.Random(seed), plain)
        return made[:most]

    return mutated


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]), sys.argv[5])
