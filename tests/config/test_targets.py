"""The targets file, key by key."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foyer.config.parts import TargetConfig
from foyer.config.targets import MAX_TARGETS, parse
from foyer.config.values import Origin


def refusal(text: str) -> str:
    """What is refused, and why: `key: problem`."""
    with pytest.raises(ValueError, match=r"^is wrong at ") as refused:
        parse(text.encode())
    assert "s3cret" not in str(refused.value)
    return str(refused.value).removeprefix("is wrong at ")


def entry(name: str = "eu", server: str = "https://eu.test", **more: str) -> str:
    members = {"name": name, "server": server, **more}
    return "{" + ", ".join(f'{key}: "{value}"' for key, value in members.items()) + "}"


def listed(*entries: str) -> str:
    return "targets:\n" + "".join(f"  - {one}\n" for one in entries)


def test_targets_are_read_in_the_order_of_the_file() -> None:
    assert parse(b"""
targets:
  - name: eu
    server: https://eu.example.com:6443
    caFile: /etc/foyer/eu.crt
    sharedWatchTokenFile: /var/run/foyer/eu-token
  - name: us
    server: https://us.example.com/
""") == (
        TargetConfig(
            "eu", Origin("https", "eu.example.com", 6443), "/etc/foyer/eu.crt", "/var/run/foyer/eu-token"
        ),
        TargetConfig("us", Origin("https", "us.example.com", 443), None, None),
    )


@given(
    st.lists(st.from_regex(r"[a-z0-9]([a-z0-9-]{0,10}[a-z0-9])?", fullmatch=True), min_size=1, unique=True)
)
def test_any_names_that_are_labels_and_each_its_own_are_taken(names: list[str]) -> None:
    found = parse(listed(*(entry(name) for name in names)).encode())
    assert [target.name for target in found] == names


def test_one_server_may_have_several_names() -> None:
    assert [target.name for target in parse(listed(entry("a"), entry("b")).encode())] == ["a", "b"]


@pytest.mark.parametrize(
    "text", ["", "{}", "targets:", "targets: []", "targets: s3cret", "targets: {s3cret: a}", "targets: ~"]
)
def test_there_is_at_least_one(text: str) -> None:
    assert refusal(text) == f"targets: should be a list of 1 to {MAX_TARGETS} targets"


def test_there_are_not_more_than_a_hundred() -> None:
    def many(count: int) -> str:
        return listed(*(entry(f"t{number}") for number in range(count)))

    assert len(parse(many(MAX_TARGETS).encode())) == MAX_TARGETS == 100
    assert refusal(many(MAX_TARGETS + 1)).startswith("targets: should be a list of 1 to 100")


@pytest.mark.parametrize(
    "name",
    ["", "EU", "-eu", "eu-", "e_u", "eu.west", "eü", "e" * 64, "eu/s3cret", "eu s3cret", "~"],
)
def test_a_name_that_is_no_label_is_refused_by_its_place(name: str) -> None:
    assert refusal(listed(entry("ok"), entry(name))).startswith("targets[1].name: should be ")


@pytest.mark.parametrize("name", ["a", "0", "eu-1", "e" * 63, "1-2"])
def test_a_label_is_taken(name: str) -> None:
    assert parse(listed(entry(name)).encode())[0].name == name


def test_a_name_given_twice_is_refused_where_it_is_given_again() -> None:
    problem = refusal(listed(entry("s3cret"), entry("eu"), entry("s3cret")))
    assert problem == "targets[2].name: is the name of a target before it, and should be its own"


@pytest.mark.parametrize(
    "server",
    ["", "http://s3cret", "https://", "https://u:s3cret@h", "https://h/s3cret", "https://h?s3cret", "s3cret"],
)
def test_a_server_is_an_https_origin(server: str) -> None:
    assert refusal(listed(entry(server=server))).startswith("targets[0].server: should ")


@pytest.mark.parametrize("key", ["caFile", "sharedWatchTokenFile"])
@pytest.mark.parametrize("value", ["~", "''", "[s3cret]", "{s3cret: a}"])
def test_a_file_that_is_named_is_a_path(key: str, value: str) -> None:
    text = f"targets: [{{name: eu, server: 'https://eu.test', {key}: {value}}}]"
    assert refusal(text).startswith(f"targets[0].{key}: should be ")


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("target: []", "target: no such key; did you mean targets?"),
        ("targets: [s3cret]", "targets[0]: should be a mapping"),
        ("targets: [[s3cret]]", "targets[0]: should be a mapping"),
        (listed(entry(cafile="s3cret")), "targets[0].cafile: no such key; did you mean caFile?"),
        (listed(entry(), entry("us", token="s3cret")), "targets[1].token: no such key"),
        ("targets: [{server: 'https://s3cret.test'}]", "targets[0].name: needed, and not given"),
        ("targets: [{name: s3cret}]", "targets[0].server: needed, and not given"),
        ("targets: [{name: [s3cret], server: 'https://h'}]", "targets[0].name: should be text"),
    ],
)
def test_what_is_no_target_is_refused_by_its_key(text: str, key: str) -> None:
    assert refusal(text).startswith(key)
