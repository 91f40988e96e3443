"""Files that the configuration names: read within a bound, and watched for change.

Certificates and session keys are replaced under a running foyer (spec 01 TLS, spec 02 The
session). Watching is polling `os.stat`: inotify sees neither the symbolic link that Kubernetes
swaps above a mounted Secret nor a network file system, and one `stat` a file a second costs
nothing. A new file that cannot be used never takes the place of one that can.

Nothing here puts a path or a byte of a file into a message: whoever reports it names the flag.
"""

import os
import ssl
import stat
from collections.abc import Callable
from typing import Generic, TypeAlias, TypeVar

MAX_FILE_BYTES = 1024 * 1024
"""More than any of these files needs: a bundle of every public root is about 250 KB."""

POLL_INTERVAL = 1.0
"""Seconds between two `poll` calls: a person who replaces a file sees it taken at once."""

Loaded = TypeVar("Loaded")

_Look: TypeAlias = tuple[int, ...]


class FileError(Exception):
    """A file cannot be used. The message says why, as a predicate: "is empty"."""


def read(path: str, limit: int = MAX_FILE_BYTES) -> bytes:
    """The whole content of a regular file of at most `limit` bytes. Raises `FileError`."""
    try:
        with open(path, "rb", opener=_open_without_waiting) as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise FileError("is not a regular file")
            content = file.read(limit + 1)
    except OSError as error:
        raise FileError(f"cannot be read: {_in_words(error)}") from None
    except ValueError:  # a NUL in the path, which the kernel's interface cannot say
        raise FileError("is not a path") from None
    if len(content) > limit:
        raise FileError(f"is larger than {limit} bytes")
    return content


def _open_without_waiting(path: str, flags: int) -> int:
    # Opening a FIFO waits for a writer without O_NONBLOCK, which changes nothing for a file.
    return os.open(path, flags | os.O_CLOEXEC | os.O_NONBLOCK)


class _Watched(Generic[Loaded]):
    """A value loaded from files, and loaded again when one of them changes.

    `value` is always the last one that loaded. `on_change` gets each new one; `on_refused` gets
    the reason why a new one was not taken, once for each change of the files.
    """

    def __init__(
        self,
        paths: tuple[str, ...],
        load: Callable[[], Loaded],
        refusal: type[Exception],
        on_change: Callable[[Loaded], None],
        on_refused: Callable[[str], None],
    ) -> None:
        self._paths = paths
        self._load = load
        self._refusal = refusal
        self._on_change = on_change
        self._on_refused = on_refused
        # Looked at before it is read, here and in `poll`: a file written in between is a change
        # the next poll sees, never one that is missed.
        self._seen = self._look()
        self.value = self._loaded()

    def poll(self) -> None:
        """Load again if a file changed since it was last looked at. Never raises `FileError`."""
        look = self._look()
        if look == self._seen:
            return
        self._seen = look
        try:
            self.value = self._loaded()
        except FileError as error:
            self._on_refused(str(error))
        else:
            self._on_change(self.value)

    def _look(self) -> tuple[_Look, ...]:
        return tuple(_look(path) for path in self._paths)

    def _loaded(self) -> Loaded:
        try:
            return self._load()
        except OSError as error:
            raise FileError(f"cannot be loaded: {_in_words(error)}") from None
        except self._refusal as error:
            raise FileError(str(error)) from None


class WatchedFile(_Watched[Loaded]):
    """One file, and what `parse` makes of its content.

    `parse` raises `refusal` for a content it cannot take, with a message that repeats nothing of
    it. The first load raises `FileError`.
    """

    def __init__(
        self,
        path: str,
        parse: Callable[[bytes], Loaded],
        *,
        refusal: type[Exception] = ValueError,
        on_change: Callable[[Loaded], None],
        on_refused: Callable[[str], None],
    ) -> None:
        super().__init__((path,), lambda: parse(read(path)), refusal, on_change, on_refused)
        self.path = path
        self._elsewhere: Callable[[str], WatchedFile[Loaded]] = lambda other: WatchedFile(
            other, parse, refusal=refusal, on_change=on_change, on_refused=on_refused
        )

    def at(self, path: str) -> "WatchedFile[Loaded]":
        """This file, or one like it at another `path`. Raises `FileError` when that cannot be used."""
        return self if path == self.path else self._elsewhere(path)


class WatchedPair(_Watched[Loaded]):
    """Two files that only make sense together: a certificate chain and its private key.

    `load` gets both paths, because `ssl` loads a chain from paths only, and raises `ssl.SSLError`,
    another `OSError` or `ValueError`. Written one after the other, the two disagree for a
    moment: that is refused like any bad pair, and the second write is the change that mends it.
    """

    def __init__(
        self,
        first: str,
        second: str,
        load: Callable[[str, str], Loaded],
        *,
        on_change: Callable[[Loaded], None],
        on_refused: Callable[[str], None],
    ) -> None:
        def load_both() -> Loaded:
            for path in (first, second):
                read(path)  # OpenSSL has no bound of its own, and would wait on a FIFO
            try:
                return load(first, second)
            except ssl.SSLError as error:
                raise FileError(f"cannot be loaded: {_of_a_pair(error)}") from None

        super().__init__((first, second), load_both, ValueError, on_change, on_refused)


def _look(path: str) -> _Look:
    """What tells one content from the next, through symbolic links.

    The inode tells a file renamed into place, size and mtime one that was written to, and ctime
    one whose mtime was set back or whose permissions now allow reading.
    """
    try:
        status = os.stat(path)
    except OSError as error:
        return (error.errno or 0,)
    except ValueError:  # as in `read`, which refuses it
        return ()
    return (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)


def _in_words(error: OSError) -> str:
    """The system's own words for a failure, which hold no path and no content."""
    return error.strerror.lower() if error.strerror else type(error).__name__


_MISMATCHES = ("KEY_VALUES_MISMATCH", "KEY_TYPE_MISMATCH", "NO_CERTIFICATE_ASSIGNED")
"""OpenSSL's reasons for a key that is another certificate's; the last is for one of another algorithm."""


def _of_a_pair(error: ssl.SSLError) -> str:
    """Words of ours, since for all but a mismatch OpenSSL has no more to say than that it was PEM."""
    if error.reason in _MISMATCHES:
        return "the key is not this certificate's; the old pair stays until both fit"
    return "should be a certificate chain and its private key, in PEM and not encrypted"
