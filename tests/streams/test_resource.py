"""An object of the API server's, read without being decoded."""

import pytest

from foyer.streams import resource
from foyer.streams.resource import LONGEST
from foyer_native.jsontext import compact
from tests.streams.following import config_map, secret
from tests.support.allocations import LITTLE, allocations
from tests.support.jsontext_twin import decode


def test_what_a_stream_must_know_is_read() -> None:
    found = resource.read(config_map("u1", "42"))
    assert found is not None
    assert (found.uid, found.version, found.is_secret) == ("u1", "42", False)
    assert found.text == config_map("u1", "42")


def test_a_secret_of_the_core_group_is_one_and_no_other_groups() -> None:
    found, other = resource.read(secret()), resource.read(secret().replace(b'"v1"', b'"example.com/v1"'))
    assert found is not None and found.is_secret
    assert other is not None and not other.is_secret


def test_an_identity_has_what_the_object_has() -> None:
    found = resource.read(config_map("u1"))
    assert found is not None
    assert decode(found.identity()) == {
        "uid": "u1",
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "namespace": "app",
        "name": "n-u1",
    }
    for written in (b"", b'"namespace":"",', b'"namespace":null,', b'"namespace":7,'):
        cluster_wide = resource.read(config_map("u1").replace(b'"namespace":"app",', written))
        assert cluster_wide is not None
        assert "namespace" not in decode(cluster_wide.identity())


def test_escapes_in_names_and_values_are_understood() -> None:
    spelled = config_map("u1").replace(b'"uid":"u1"', b'"u\\u0069d":"\\u0075\\ud83d\\ude00"')
    found = resource.read(spelled)
    assert found is not None
    assert found.uid == "u\U0001f600"
    assert decode(found.identity())["uid"] == "u\U0001f600"


@pytest.mark.parametrize("value", [b"[" * 5000 + b"]" * 5000, b"1" * 5000, b'"\\ud800"', b"-0.5e3", b"true"])
@pytest.mark.parametrize("member", [b"kind", b"apiVersion"])
def test_a_value_that_is_no_text_is_none_however_long_or_deep(member: bytes, value: bytes) -> None:
    text = b'{"metadata":{"name":"n","uid":"u"},"kind":"K","apiVersion":"v1","%b":%b}' % (member, value)
    assert resource.read(text) is None


@pytest.mark.parametrize("spelled", ["x", "\\u0078", "é"])
def test_a_string_that_is_longer_than_any_name_is_none(spelled: str) -> None:
    octets = len(spelled.encode())
    for times, known in (((LONGEST - 2) // octets, True), (LONGEST // octets + 1, False)):
        uid = spelled.encode() * times
        found = resource.read(config_map("u1").replace(b'"uid":"u1"', b'"uid":"%b"' % uid))
        assert (found is not None) is known


def test_members_that_nobody_looks_for_take_no_memory() -> None:
    others = b"".join([b'"m%d":%d,' % (number, number) for number in range(50_000)])
    text = config_map("u1").replace(b"{", b"{" + others).replace(b",}", b"}")
    with allocations() as made:
        found = resource.read(text)
        assert found is not None and found.uid == "u1"
    assert made.most < LITTLE


def test_of_a_repeated_name_the_last_counts() -> None:
    found = resource.read(config_map("u1", more=b',"uid":"u2"'))
    assert found is not None and found.uid == "u2"


@pytest.mark.parametrize("version", [b"", b"12", b"null", b"{}", b"[]"])
def test_a_version_that_is_no_string_is_none(version: bytes) -> None:
    member = b'"resourceVersion":' + version if version else b'"x":1'
    found = resource.read(config_map("u1").replace(b'"resourceVersion":"10"', member))
    assert found is not None and found.version == ""


@pytest.mark.parametrize(
    ("was", "instead"),
    [
        (b'"uid":"u1",', b""),
        (b'"uid":"u1"', b'"uid":""'),
        (b'"uid":"u1"', b'"uid":7'),
        (b'"uid":"u1"', b'"uid":null'),
        (b'"name":"n-u1",', b""),
        (b'"name":"n-u1"', b'"name":["n"]'),
        (b'"kind":"ConfigMap",', b""),
        (b'"kind":"ConfigMap"', b'"kind":{}'),
        (b'"kind":"ConfigMap"', b'"kind":"PartialObjectMetadata"'),
        (b'"apiVersion":"v1",', b""),
        (b'"apiVersion":"v1"', b'"apiVersion":"meta.k8s.io/v1"'),
        (b'"apiVersion":"v1"', b'"apiVersion":"meta.k8s.io/v1beta1"'),
        (b'"metadata":', b'"meta":'),
        (b'"metadata":', b'"metadata":null,"m":'),
        (b'"metadata":', b'"metadata":"m","m":'),
    ],
)
def test_an_object_that_is_not_whole_is_none(was: bytes, instead: bytes) -> None:
    text = config_map("u1")
    assert was in text
    changed = compact(text.replace(was, instead, 1))
    assert changed is not None
    assert resource.read(changed) is None


@pytest.mark.parametrize("text", [b"{}", b"[]", b"null", b"1", b'"{}"', b"true"])
def test_what_is_no_object_is_none(text: bytes) -> None:
    assert resource.read(text) is None


def test_nothing_of_its_content_is_shown_by_its_repr() -> None:
    assert "MQ==" not in repr(resource.read(secret()))
