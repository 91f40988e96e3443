"""The roots that a server's certificate is verified by: a file's as it changes, or the system's (spec 01)."""

from __future__ import annotations

import ssl

from foyer.config import contents
from foyer.net.files import WatchedFile
from foyer.net.upstream import client_context
from foyer.observe import Log


class Roots:
    """One server's roots, as the TLS context that verifies by them."""

    def __init__(
        self, flag: str, file: str | None, log: Log, *, extra: bool, target: str | None = None
    ) -> None:
        """`flag` names the file in log lines, and `target` the server; `extra` has the system's roots trusted
        beside it.

        Without a file they are the system's, read once. Raises `FileError` or `OSError`.
        """
        self._flag = flag
        self._file = file
        self._log = log
        self._extra = extra
        self._target = target
        self._system = client_context(None, extra=extra) if file is None else None
        self._watched = None if file is None else self._watch(file)

    @property
    def context(self) -> ssl.SSLContext:
        """By the roots as they are now: another object once they have changed."""
        if self._watched is not None:
            return self._watched.value
        assert self._system is not None
        return self._system

    def poll(self) -> None:
        """Reads the file again when it has changed; one that cannot be used leaves the old roots."""
        if self._watched is not None:
            self._watched.poll()

    def at(self, file: str | None) -> Roots:
        """These roots, or those of `file` where that is another. Raises as the constructor does."""
        if file == self._file:
            return self
        return Roots(self._flag, file, self._log, extra=self._extra, target=self._target)

    def _watch(self, file: str) -> WatchedFile[ssl.SSLContext]:
        def load(content: bytes) -> ssl.SSLContext:
            # By its path: `ssl` takes no PEM from memory that has comments in it.
            contents.check_certificates(file)
            return client_context(file, extra=self._extra)

        return WatchedFile(
            file,
            load,
            on_change=lambda _: self._log.roots_reloaded(self._flag, self._target),
            on_refused=lambda reason: self._log.roots_refused(self._flag, reason, self._target),
        )
