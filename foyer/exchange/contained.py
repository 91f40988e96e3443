"""Where an exception of foyer's own ends: with whoever it rose in, and nobody else."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec, Protocol, TypeVar


class Failing(Protocol):
    """Something that can be over by a fault of its own."""

    def failed(self, error: Exception) -> None:
        """foyer's own code failed in it."""


F = TypeVar("F", bound=Failing)
P = ParamSpec("P")


def contained(method: Callable[Concatenate[F, P], None]) -> Callable[Concatenate[F, P], None]:
    """Tells the object whose `method` raises that it has failed; whoever called goes on."""

    @wraps(method)
    def call(self: F, /, *args: P.args, **kwargs: P.kwargs) -> None:
        try:
            method(self, *args, **kwargs)
        except Exception as error:  # the outermost for this object: logged by its type
            self.failed(error)

    return call
