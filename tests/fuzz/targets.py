"""Every target, and where inputs that broke one are kept."""

from pathlib import Path

from tests.fuzz import (
    answers,
    codecs,
    connections,
    content_coding,
    cookies,
    header_blocks,
    logins,
    messages,
    paths,
    texts,
)
from tests.fuzz.target import Target

FOUND = Path(__file__).parent / "found"
"""A folder for each target; its files are inputs, whatever they are called."""

TARGETS: dict[str, Target] = {
    target.name: target
    for target in (
        *messages.TARGETS,
        paths.TARGET,
        content_coding.TARGET,
        *texts.TARGETS,
        header_blocks.TARGET,
        cookies.TARGET,
        *logins.TARGETS,
        answers.TARGET,
        *codecs.TARGETS,
        *connections.TARGETS,
    )
}
