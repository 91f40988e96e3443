"""Watched files: what was read stays until something better is there."""

import os
import ssl
from collections.abc import Callable
from pathlib import Path

import pytest
import trustme

from foyer.net.files import FileError, WatchedFile, WatchedPair, read


def number(content: bytes) -> int:
    if not content.strip().isdigit():
        raise ValueError("is not a number")
    return int(content)


class Events:
    """What a watched file reported, in order."""

    def __init__(self) -> None:
        self.changes: list[object] = []
        self.refusals: list[str] = []


def watch(path: Path, events: Events, parse: Callable[[bytes], int] = number) -> WatchedFile[int]:
    return WatchedFile(str(path), parse, on_change=events.changes.append, on_refused=events.refusals.append)


def replace(path: Path, content: bytes) -> None:
    """Replace a file the way careful writers do: a new inode, renamed into place."""
    new = path.with_name(path.name + ".new")
    new.write_bytes(content)
    new.rename(path)


def test_a_file_is_read_whole(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"x" * 100)
    assert read(str(tmp_path / "f"), limit=100) == b"x" * 100


def test_a_file_one_byte_over_the_bound_is_refused(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"x" * 101)
    with pytest.raises(FileError, match="larger than 100 bytes"):
        read(str(tmp_path / "f"), limit=100)


def test_an_endless_device_is_refused_unread() -> None:
    with pytest.raises(FileError, match="not a regular file"):
        read("/dev/zero")


def test_a_fifo_without_a_writer_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    with pytest.raises(FileError, match="not a regular file"):
        read(str(tmp_path / "fifo"))


def test_a_directory_is_refused_and_leaves_no_descriptor_open(tmp_path: Path) -> None:
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(10):
        with pytest.raises(FileError, match="is a directory"):
            read(str(tmp_path))
    assert len(os.listdir("/proc/self/fd")) == before


def test_a_refusal_says_why_and_does_not_repeat_the_path(tmp_path: Path) -> None:
    with pytest.raises(FileError) as refused:
        read(str(tmp_path / "s3cret"))
    assert str(refused.value) == "cannot be read: no such file or directory"


def test_a_path_with_a_nul_is_refused() -> None:
    with pytest.raises(FileError, match="not a path"):
        read("a\0b")
    with pytest.raises(FileError, match="not a path"):
        watch(Path("a\0b"), Events())


def test_the_value_is_there_from_the_start_and_reported_only_when_it_changes(tmp_path: Path) -> None:
    path, events = tmp_path / "n", Events()
    path.write_bytes(b"1\n")
    watched = watch(path, events)
    watched.poll()
    assert (watched.value, events.changes, events.refusals) == (1, [], [])


def test_a_file_that_cannot_be_used_at_the_start_is_refused(tmp_path: Path) -> None:
    (tmp_path / "n").write_bytes(b"one")
    with pytest.raises(FileError, match="is not a number"):
        watch(tmp_path / "n", Events())
    with pytest.raises(FileError, match="no such file"):
        watch(tmp_path / "absent", Events())


def test_a_parser_may_refuse_with_an_exception_of_its_own(tmp_path: Path) -> None:
    class NotOneError(Exception):
        pass

    def one(content: bytes) -> int:
        if content != b"1":
            raise NotOneError("is not one")
        return 1

    path, events = tmp_path / "n", Events()
    path.write_bytes(b"1")
    watched = WatchedFile(
        str(path),
        one,
        refusal=NotOneError,
        on_change=events.changes.append,
        on_refused=events.refusals.append,
    )
    replace(path, b"2")
    watched.poll()
    assert (watched.value, events.refusals) == (1, ["is not one"])


def test_a_renamed_file_is_taken_once(tmp_path: Path) -> None:
    path, events = tmp_path / "n", Events()
    path.write_bytes(b"1")
    watched = watch(path, events)
    replace(path, b"2")
    watched.poll()
    watched.poll()
    assert (watched.value, events.changes) == (2, [2])


def test_a_file_written_in_place_is_taken(tmp_path: Path) -> None:
    path, events = tmp_path / "n", Events()
    path.write_bytes(b"1")
    watched = watch(path, events)
    path.write_bytes(b"22")
    watched.poll()
    assert (watched.value, events.changes) == (22, [22])


def test_the_symbolic_link_that_kubernetes_swaps_is_followed(tmp_path: Path) -> None:
    for version in ("1", "2"):
        (tmp_path / f"..{version}").mkdir()
        (tmp_path / f"..{version}" / "keys").write_text(version)
    (tmp_path / "..data").symlink_to("..1")
    (tmp_path / "keys").symlink_to("..data/keys")
    events = Events()
    watched = watch(tmp_path / "keys", events)

    (tmp_path / "..data_tmp").symlink_to("..2")
    (tmp_path / "..data_tmp").rename(tmp_path / "..data")
    watched.poll()
    assert (watched.value, events.changes) == (2, [2])


def test_a_file_is_read_only_when_it_changed(tmp_path: Path) -> None:
    reads = []

    def parse(content: bytes) -> int:
        reads.append(content)
        return number(content)

    path = tmp_path / "n"
    path.write_bytes(b"1")
    watched = watch(path, Events(), parse)
    for _ in range(5):
        watched.poll()
    assert reads == [b"1"]


def test_a_bad_new_file_keeps_the_old_value_and_is_reported_once(tmp_path: Path) -> None:
    path, events = tmp_path / "n", Events()
    path.write_bytes(b"1")
    watched = watch(path, events)
    replace(path, b"two")
    for _ in range(3):
        watched.poll()
    assert (watched.value, events.changes, events.refusals) == (1, [], ["is not a number"])

    replace(path, b"three")
    watched.poll()
    assert events.refusals == ["is not a number"] * 2

    replace(path, b"4")
    watched.poll()
    assert (watched.value, events.changes) == (4, [4])


def test_a_file_that_vanishes_keeps_the_old_value_and_its_return_is_noticed(tmp_path: Path) -> None:
    path, events = tmp_path / "n", Events()
    path.write_bytes(b"1")
    watched = watch(path, events)
    path.unlink()
    watched.poll()
    watched.poll()
    assert watched.value == 1
    assert events.refusals == ["cannot be read: no such file or directory"]

    path.write_bytes(b"2")
    watched.poll()
    assert watched.value == 2


def test_a_file_at_its_own_path_is_itself_and_elsewhere_another_like_it(tmp_path: Path) -> None:
    for name, content in {"one": b"1", "two": b"2", "bad": b"x"}.items():
        (tmp_path / name).write_bytes(content)
    events = Events()
    one = watch(tmp_path / "one", events)
    assert one.at(str(tmp_path / "one")) is one
    two = one.at(str(tmp_path / "two"))
    assert (one.value, two.value, events.changes) == (1, 2, [])
    for name in ("bad", "missing"):
        with pytest.raises(FileError):
            one.at(str(tmp_path / name))
    replace(tmp_path / "two", b"3")
    two.poll()
    replace(tmp_path / "two", b"x")
    two.poll()
    assert (two.value, events.changes, events.refusals) == (3, [3], ["is not a number"])
    assert two.at(str(tmp_path / "one")).value == 1


def test_a_file_replaced_between_the_look_and_the_read_is_seen_by_the_next_poll(tmp_path: Path) -> None:
    path, events = tmp_path / "n", Events()
    path.write_bytes(b"1")
    once = [b"3"]

    def parse(content: bytes) -> int:
        if content == b"2" and once:
            replace(path, once.pop())
        return number(content)

    watched = watch(path, events, parse)
    replace(path, b"2")
    watched.poll()
    watched.poll()
    assert (watched.value, events.changes) == (3, [2, 3])


def server_context(certificate: str, key: str) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    return context


class Pair:
    """A certificate and a key file, and a watch on both."""

    def __init__(self, folder: Path) -> None:
        self.certificate, self.key = folder / "tls.crt", folder / "tls.key"
        self.authority = trustme.CA()
        self.write(self.issue())
        self.events = Events()
        self.watched = WatchedPair(
            str(self.certificate),
            str(self.key),
            server_context,
            on_change=self.events.changes.append,
            on_refused=self.events.refusals.append,
        )

    def issue(self) -> tuple[bytes, bytes]:
        leaf = self.authority.issue_cert("foyer.test")
        return leaf.cert_chain_pems[0].bytes(), leaf.private_key_pem.bytes()

    def write(self, pair: tuple[bytes, bytes]) -> None:
        replace(self.certificate, pair[0])
        replace(self.key, pair[1])


@pytest.fixture
def pair(tmp_path: Path) -> Pair:
    return Pair(tmp_path)


def test_a_new_pair_is_taken_when_both_files_agree(pair: Pair) -> None:
    old = pair.watched.value
    pair.write(pair.issue())
    pair.watched.poll()
    assert pair.watched.value is not old
    assert pair.events.changes == [pair.watched.value]


MISMATCH = "cannot be loaded: the key is not this certificate's; the old pair stays until both fit"


def test_half_a_new_pair_is_refused_and_the_second_half_mends_it(pair: Pair) -> None:
    old = pair.watched.value
    certificate, key = pair.issue()
    replace(pair.certificate, certificate)
    pair.watched.poll()
    pair.watched.poll()
    assert pair.watched.value is old
    assert pair.events.refusals == [MISMATCH]

    replace(pair.key, key)
    pair.watched.poll()
    assert pair.watched.value is not old
    assert len(pair.events.refusals) == 1


def test_a_key_of_another_algorithm_is_a_mismatch_too(pair: Pair) -> None:
    replace(pair.key, trustme.CA(key_type=trustme.KeyType.RSA).private_key_pem.bytes())
    pair.watched.poll()
    assert pair.events.refusals == [MISMATCH]


@pytest.mark.parametrize("file", ["certificate", "key"])
@pytest.mark.parametrize("content", [b"", b"no PEM\n", b"-----BEGIN CERTIFICATE-----\nMIIB"])
def test_what_is_no_pem_is_refused_in_words_for_an_operator(pair: Pair, file: str, content: bytes) -> None:
    replace(getattr(pair, file), content)
    pair.watched.poll()
    (reason,) = pair.events.refusals
    assert reason == (
        "cannot be loaded: should be a certificate chain and its private key, in PEM and not encrypted"
    )


def test_a_key_that_vanishes_keeps_the_old_pair(pair: Pair) -> None:
    old = pair.watched.value
    pair.key.unlink()
    pair.watched.poll()
    assert pair.watched.value is old
    assert pair.events.refusals == ["cannot be read: no such file or directory"]


def test_a_pair_over_the_bound_never_reaches_openssl(pair: Pair) -> None:
    old = pair.watched.value
    replace(pair.certificate, b"x" * (1024 * 1024 + 1))
    pair.watched.poll()
    assert pair.watched.value is old
    assert pair.events.refusals == ["is larger than 1048576 bytes"]
