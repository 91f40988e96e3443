"""How much memory there is, by kernel files of a test's own."""

import os
from pathlib import Path

import pytest

from foyer.config.memory import available

MACHINE = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
SMALL = 64 * 1024 * 1024

V2 = "sys/fs/cgroup"
V1 = "sys/fs/cgroup/memory"


def kernel(root: Path, cgroup: str, **limits: str) -> int:
    """What is available where `cgroup` is `/proc/self/cgroup`, and `limits` are files by their path."""
    files = {"proc/self/cgroup": cgroup, **limits}
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    return available(root)


def test_without_any_limit_it_is_the_machines(tmp_path: Path) -> None:
    assert available(tmp_path) == MACHINE
    assert kernel(tmp_path, "0::/\n") == MACHINE


def test_this_process_has_some() -> None:
    assert 0 < available() <= MACHINE


def test_a_container_sees_its_own_limit_at_the_root(tmp_path: Path) -> None:
    assert kernel(tmp_path, "0::/\n", **{f"{V2}/memory.max": f"{SMALL}\n"}) == SMALL


def test_a_limit_above_the_machines_memory_limits_nothing(tmp_path: Path) -> None:
    assert kernel(tmp_path, "0::/\n", **{f"{V2}/memory.max": f"{MACHINE * 2}\n"}) == MACHINE


@pytest.mark.parametrize("text", ["max\n", "", "\n", "-1\n", "0\n", "1e9\n", "²\n", "1 2\n"])
def test_what_is_no_number_of_bytes_is_no_limit(tmp_path: Path, text: str) -> None:
    assert kernel(tmp_path, "0::/\n", **{f"{V2}/memory.max": text}) == MACHINE


def test_the_least_of_the_cgroups_around_the_process_counts(tmp_path: Path) -> None:
    limits = {
        f"{V2}/a.slice/memory.max": f"{SMALL}\n",
        f"{V2}/a.slice/b.service/memory.max": f"{3 * SMALL}\n",
        f"{V2}/a.slice/other.service/memory.max": "1\n",
    }
    assert kernel(tmp_path, "0::/a.slice/b.service\n", **limits) == SMALL


def test_version_1_has_its_own_hierarchy_and_a_number_where_there_is_no_limit(tmp_path: Path) -> None:
    cgroup = "12:cpu,cpuacct:/x\n9:memory:/kubepods/pod1/c1\n0::/ignored\n"
    limits = {
        f"{V1}/kubepods/memory.limit_in_bytes": "9223372036854771712\n",
        f"{V1}/kubepods/pod1/c1/memory.limit_in_bytes": f"{SMALL}\n",
        f"{V1}/x/memory.limit_in_bytes": "1\n",
    }
    assert kernel(tmp_path, cgroup, **limits) == SMALL


def test_a_container_whose_names_are_the_hosts_has_its_limit_at_the_root(tmp_path: Path) -> None:
    cgroup = "9:memory:/docker/0123456789ab\n"
    assert kernel(tmp_path, cgroup, **{f"{V1}/memory.limit_in_bytes": f"{SMALL}\n"}) == SMALL


@pytest.mark.parametrize("name", ["/../..", "/../0::/", "a/../../../../etc", ":::", ""])
def test_names_that_lead_elsewhere_are_not_followed(tmp_path: Path, name: str) -> None:
    (tmp_path / "memory.max").write_text("1")
    (tmp_path / "sys/fs").mkdir(parents=True)
    (tmp_path / "sys/fs/memory.max").write_text("1")
    assert kernel(tmp_path, f"0::{name}\nnonsense\n\n") == MACHINE


def test_a_file_that_cannot_be_read_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / V2 / "memory.max").mkdir(parents=True)
    (tmp_path / V1).mkdir(parents=True)
    (tmp_path / V1 / "memory.limit_in_bytes").write_bytes(b"\xff\xff")
    assert kernel(tmp_path, "0::/\n") == MACHINE


def test_what_is_above_the_namespaces_root_is_not_looked_for(tmp_path: Path) -> None:
    """cgroup_namespaces(7) shows it as `/..`; behind the mount's own parent is somebody else's file."""
    limits = {f"{V2}/memory.max": f"{SMALL}\n", "sys/fs/other/memory.max": "1\n"}
    assert kernel(tmp_path, "0::/../other\n", **limits) == SMALL
