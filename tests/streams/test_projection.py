"""The three projections, against their twin over decoded objects (spec 05, Projections)."""

from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from foyer.streams import projection, resource
from foyer.streams.projection import VALUES_MOST, Projected, Projection, project
from foyer_native.jsontext import compact
from tests.streams import projected as twin
from tests.streams.following import config_map, secret
from tests.support.allocations import allocations
from tests.support.jsontext_twin import Spelled, decode, encode

EVERY = list(Projection)


def shown(text: bytes, view: Projection = Projection.FULL, *, is_secret: bool = False) -> Projected:
    packed = compact(text)
    assert packed is not None
    found = resource.read(packed)
    assert found is not None
    return project(found, view, secret=is_secret)


def value(projected: Projected) -> Any:
    return decode(projected.object)


def paths(projected: Projected) -> list[str]:
    return [decode(redaction.path) for redaction in projected.redactions]


LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.text(max_size=6),
    st.sampled_from(("0", "-0", "1.0", "1e400", "9007199254740993", "0.10", "-1E-9")).map(Spelled),
)
KEYS = st.one_of(
    st.text(max_size=5), st.sampled_from(("a/b", "~", "~1", "\u2028", "\ud800", "data", "status"))
)
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(KEYS, inner, max_size=3)),
    max_leaves=6,
)
MAPS = st.one_of(st.dictionaries(KEYS, LEAVES, max_size=3), st.none(), VALUES)
ANNOTATIONS = st.one_of(
    st.dictionaries(st.one_of(KEYS, st.just(twin.LAST_APPLIED)), st.text(max_size=5), max_size=3), VALUES
)
METADATA = st.fixed_dictionaries(
    {"uid": st.sampled_from(("u1", "u2")), "name": st.just("n")},
    optional={
        "resourceVersion": st.sampled_from(("1", "20", "opaque")),
        "managedFields": VALUES,
        "annotations": ANNOTATIONS,
        "labels": VALUES,
        "generation": LEAVES,
    },
)
OBJECTS = st.fixed_dictionaries(
    {
        "kind": st.sampled_from(("Secret", "ConfigMap")),
        "apiVersion": st.sampled_from(("v1", "example.com/v1")),
        "metadata": METADATA,
    },
    optional={"data": MAPS, "stringData": MAPS, "status": VALUES, "spec": VALUES, "type": LEAVES},
).flatmap(lambda made: st.permutations(list(made.items())).map(dict))


@given(OBJECTS, st.sampled_from(EVERY))
def test_an_object_is_shown_as_by_its_twin(made: dict[str, Any], view: Projection) -> None:
    expected, withheld = twin.projected(made, view.value)
    projected = shown(encode(made), view)
    assert value(projected) == expected
    assert paths(projected) == list(withheld)


def _with(metadata: dict[str, Any]) -> dict[str, Any]:
    return {"kind": "Secret", "apiVersion": "v1", "metadata": {"uid": "u1", "name": "n"} | metadata}


def seen(made: dict[str, Any], view: Projection) -> list[Any]:
    """All that a page would find something changed in."""
    content, withheld = twin.projected(made, view.value)
    content["metadata"] = {n: p for n, p in content["metadata"].items() if n != "resourceVersion"}
    return [content, withheld]


def in_order(found: Any) -> Any:
    """The same whatever order its members came in, which says nothing."""
    if isinstance(found, dict):
        return {name: in_order(found[name]) for name in sorted(found)}
    return [in_order(each) for each in found] if isinstance(found, list) else found


@given(OBJECTS, OBJECTS, st.sampled_from(EVERY))
@example(
    _with({"annotations": {}, "generation": None}),
    _with({"generation": None, "annotations": {}}),
    Projection.RAW,
)
def test_digests_are_equal_when_a_page_would_find_nothing_changed(
    one: dict[str, Any], other: dict[str, Any], view: Projection
) -> None:
    moved = one | {"metadata": one["metadata"] | {"resourceVersion": "77", "managedFields": [{"x": True}]}}
    for another in (other, moved):
        equal = shown(encode(one), view).digest == shown(encode(another), view).digest
        before, after = seen(one, view), seen(another, view)
        if encode(before) == encode(after):
            assert equal
        elif equal:  # as it may be, or not, where nothing but their order is another
            assert encode(in_order(before)) == encode(in_order(after))


BOOKKEPT = config_map(
    more=b',"managedFields":[{"manager":"x"}],"annotations":{"note":"keep",'
    b'"kubectl.kubernetes.io/last-applied-configuration":"{}"}'
)


@pytest.mark.parametrize("view", EVERY)
def test_bookkeeping_is_in_no_projection(view: Projection) -> None:
    metadata = value(shown(BOOKKEPT, view))["metadata"]
    assert "managedFields" not in metadata
    assert metadata["annotations"] == {"note": "keep"}


def test_a_map_that_the_projection_empties_goes_and_one_that_was_empty_stays() -> None:
    only = b',"annotations":{"kubectl.kubernetes.io/last-applied-configuration":"{}"}'
    assert "annotations" not in value(shown(config_map(more=only)))["metadata"]
    assert value(shown(config_map(more=b',"annotations":{}')))["metadata"]["annotations"] == {}
    assert "data" not in value(shown(secret()))
    assert value(shown(secret(data=b"{}")))["data"] == {}
    assert value(shown(secret(data=b"null")))["data"] is None
    assert value(shown(config_map(data=b"{}")))["data"] == {}


def test_a_secrets_values_are_named_and_in_no_frame() -> None:
    text = secret(data=b'{"token":"aHVudGVyMg==","a/b~c":"Ym9i"}', more=b',"stringData":{"token":"hunter2"}')
    for view in (Projection.FULL, Projection.SPEC):
        projected = shown(text, view)
        assert paths(projected) == ["/data/a~1b~0c", "/data/token", "/stringData/token"]
        assert b"hunter2" not in projected.tail and b"aHVudGVyMg" not in projected.tail
        assert value(projected)["type"] == "Opaque"
    assert value(shown(text, Projection.RAW))["data"]["token"] == "aHVudGVyMg=="


@pytest.mark.parametrize(
    "data", [b'"hunter2"', b'["hunter2"]', b"7", b'{"a":{"b":"hunter2"}}', b'{"a":["hunter2"]}']
)
def test_a_secrets_data_of_another_shape_is_withheld_whole(data: bytes) -> None:
    projected = shown(secret(data=data))
    assert b"hunter2" not in projected.tail
    assert paths(projected) == (["/data/a"] if data.startswith(b"{") else ["/data"])


@pytest.mark.parametrize(
    "text",
    [
        secret(data=b'{"a":"hunter2"}', more=b',"data":{"b":"hunter2"}'),
        secret(data=b'{"a":"hunter2","a":"hunter2"}'),
        secret(data=b"{}", more=b',"d\\u0061ta":{"a":"hunter2"}'),
        secret(more=b',"\\u0073tringData":{"a":"hunter2"}'),
        secret(
            more=b',"metadata":{"uid":"s1","name":"n","annotations":{"kubectl.kubernetes.io\\/last-applied-configuration":"hunter2"}}'
        ),
    ],
    ids=["data twice", "a key twice", "data escaped", "stringData escaped", "annotation escaped"],
)
def test_no_spelling_of_a_secret_gets_past_the_projection(text: bytes) -> None:
    assert b"hunter2" not in shown(text).tail


def keys(count: int, key: bytes = b'"%d":1') -> bytes:
    return b"{%b}" % b",".join([key % number for number in range(count)])


@pytest.mark.parametrize("field", ["data", "stringData"])
def test_a_secret_with_more_values_than_are_named_is_withheld_whole(field: str) -> None:
    def made(count: int, key: bytes = b'"%d":1') -> bytes:
        name = b"" if field == "data" else b'"data":{},'
        return secret().replace(
            b'"data":{"a":"MQ=="}', b'%b"%b":%b' % (name, field.encode(), keys(count, key))
        )

    assert len(paths(shown(made(VALUES_MOST)))) == VALUES_MOST
    assert paths(shown(made(VALUES_MOST + 1))) == [f"/{field}"]
    assert paths(shown(made(VALUES_MOST + 1, b'"a":%d'))) == [f"/{field}"]  # however few names they have
    for view in (Projection.FULL, Projection.SPEC):
        assert field not in value(shown(made(VALUES_MOST + 1), view))
    one, other = shown(made(VALUES_MOST + 1)), shown(made(VALUES_MOST + 1, b'"%d":2'))
    assert one.digest != other.digest and one.redactions != other.redactions
    assert shown(made(VALUES_MOST + 1)).redactions == one.redactions


@pytest.mark.parametrize("view", EVERY)
def test_an_object_is_shown_within_a_few_times_its_bytes_however_many_parts_it_has(view: Projection) -> None:
    """As places in its text these would take some fifty times as many."""
    parts = keys(60_000, b'"%05d":1')[1:-1]
    last_applied = b',"annotations":{%b,"kubectl.kubernetes.io/last-applied-configuration":"{}"}' % parts
    text = secret(data=b"{%b}" % parts, more=b",%b" % parts).replace(
        b'"uid":"s1"', b'"uid":"s1",%b%b' % (parts, last_applied)
    )
    with allocations() as made:
        assert shown(text, view).uid == "s1"
    assert made.most < 6 * len(text)


def test_where_the_scope_says_secrets_whatever_comes_is_one() -> None:
    odd = config_map(data=b'{"a":"hunter2"}')
    assert b"hunter2" not in shown(odd, is_secret=True).tail
    assert b"hunter2" in shown(odd).tail


def test_status_is_in_every_projection_but_the_spec() -> None:
    text = config_map()[:-1] + b',"status":{"ready":1}}'
    assert value(shown(text, Projection.FULL))["status"] == {"ready": Spelled("1")}
    assert "status" not in value(shown(text, Projection.SPEC))
    other = text.replace(b'"ready":1', b'"ready":2')
    assert shown(text, Projection.SPEC).digest == shown(other, Projection.SPEC).digest
    assert shown(text).digest != shown(other).digest


def test_a_projection_that_cuts_nothing_shows_the_very_bytes_but_for_where_the_version_stands() -> None:
    odd = (
        b'{"n":[9007199254740993,1e400,-0,1.0,0.10],"s":"\\ud800 \xe2\x80\xa8 \xf0\x9f\x98\x80 \\/ \\u0041"}'
    )
    projected = shown(config_map(data=odd))
    assert b'"data":' + odd in projected.tail
    assert len(projected.object) == len(config_map(data=odd))


def test_what_was_spaced_has_no_line_in_its_frame() -> None:
    spaced = config_map().replace(b",", b",\r\n\t").replace(b":", b" :\n")
    projected = shown(spaced)
    assert projected.tail.count(b"\n") == 2 and b"\r" not in projected.tail
    assert value(projected) == decode(spaced)
    assert projected.digest == shown(config_map()).digest


def test_an_object_of_two_mebibytes_is_shown_whole() -> None:
    text = config_map(data=b'{"a":"%b"}' % (b"x" * (2 * 1024 * 1024)))
    assert value(shown(text)) == decode(text)


def test_what_was_shown_raw_can_be_projected_again() -> None:
    text = secret(data=b'{"token":"aA=="}')
    raw = resource.read(shown(text, Projection.RAW).object)
    assert raw is not None
    for view in EVERY:
        assert project(raw, view) == shown(text, view)


def test_a_digest_tells_nothing_without_the_process_that_made_it(monkeypatch: pytest.MonkeyPatch) -> None:
    before = shown(secret())
    monkeypatch.setattr(projection, "_KEY", b"another process' key")
    after = shown(secret())
    assert before.tail == after.tail
    assert before.digest != after.digest
    assert before.redactions != after.redactions


def test_nothing_of_an_object_is_shown_by_a_repr() -> None:
    assert "MQ==" not in repr(shown(secret(), Projection.RAW))
