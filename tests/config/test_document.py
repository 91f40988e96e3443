"""YAML, read strictly."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from foyer.config.document import MAX_BYTES, MAX_DEPTH, Node, Text, read


def plain(node: Node) -> object:
    """The node as Python's own values, every scalar as its text."""
    if isinstance(node, Text):
        return node.text
    if isinstance(node, list):
        return [plain(item) for item in node]
    return {key: plain(value) for key, value in node.items()}


def refusal(content: bytes | str) -> str:
    with pytest.raises(ValueError, match=r"^(should|is wrong at) ") as refused:
        read(content.encode() if isinstance(content, str) else content)
    assert "s3cret" not in str(refused.value)
    return str(refused.value)


def test_mappings_lists_and_text_are_read_in_both_styles() -> None:
    text = "a: 1\nb:\n  - x\n  - 'y: z'\nc: {d: [e, \"f\"]}\n# a comment\ng: |\n  two\n  lines\n"
    assert plain(read(text.encode())) == {
        "a": "1",
        "b": ["x", "y: z"],
        "c": {"d": ["e", "f"]},
        "g": "two\nlines\n",
    }


@pytest.mark.parametrize(
    "text",
    ["no", "0x10", "1:30", "1e3", "012", "2026-10-03", "~", "yes", "8h", ":8080", "1_000", ".inf", "<<"],
)
def test_a_scalar_stays_the_text_that_was_written(text: str) -> None:
    assert plain(read(f"a: {text}".encode())) == {"a": text}


@pytest.mark.parametrize(
    ("text", "null", "boolean"),
    [
        ("", True, None),
        ("~", True, None),
        ("null", True, None),
        ('""', False, None),
        ('"null"', False, None),
        ("true", False, True),
        ("FALSE", False, False),
        ('"true"', False, None),
        ("yes", False, None),
        ("1", False, None),
    ],
)
def test_what_may_be_meant_as_no_value_or_a_boolean_is_plain(
    text: str, null: bool, boolean: bool | None
) -> None:
    node = read(f"a: {text}".encode())["a"]
    assert isinstance(node, Text)
    assert (node.is_null, node.as_bool) == (null, boolean)


def test_json_is_yaml_and_a_byte_order_mark_is_nothing() -> None:
    assert plain(read(b'\xef\xbb\xbf{"a": ["b"]}')) == {"a": ["b"]}


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a: 1\na: s3cret\n", 2),
        ("a: {b: 1, b: s3cret}\n", 1),
        ("a: &s3cret 1\n", 1),
        ("b: 1\na: &x [1]\nc: *x\n", 2),
        ("a: *s3cret\n", 1),
        ("a: &a [*a]\n", 1),
        ("a: !!python/object:s3cret x\n", 1),
        ("a: !!str x\n", 1),
        ("a: !s3cret {}\n", 1),
        ("a: ! x\n", 1),
        ("a: 1\n---\nb: s3cret\n", 2),
        ("? [a]\n: s3cret\n", 1),
        ("? {a: 1}\n: s3cret\n", 1),
        ("~: s3cret\n", 1),
        (": s3cret\n", 1),
        ("a: 1\nb: {s3cret\n", 3),
        ("a: 1\n\tb: s3cret\n", 2),
        ("a: 'unclosed s3cret\n", 2),
        ("a: b: s3cret\n", 1),
    ],
)
def test_what_has_two_readings_or_none_is_refused_by_its_line(text: str, line: int) -> None:
    assert f"line {line}" in refusal(text)


@pytest.mark.parametrize("content", ["s3cret\n", "- s3cret\n", "''\n"])
def test_anything_but_a_mapping_at_the_top_is_refused(content: str) -> None:
    assert "a mapping at its top" in refusal(content)


@pytest.mark.parametrize("content", ["", "# nothing\n", "~\n", "---\n...\n"])
def test_a_document_with_nothing_in_it_is_an_empty_mapping(content: str) -> None:
    assert read(content.encode()) == {}


@pytest.mark.parametrize(
    "content",
    [
        b"a: \xff",
        b"a: \x00",
        b'a: "\\UFFFFFFFF"',
        b'a: "\\U00110000"',
        b"%YAML 1." + b"9" * 5000 + b"\n---\na: 1\n",
        b"\xff\xfea\x00:\x00",
    ],
)
def test_what_pyyaml_itself_stumbles_over_is_refused(content: bytes) -> None:
    refusal(content)


def test_nesting_has_a_bound_however_deep_a_file_goes() -> None:
    def nested(depth: int) -> str:
        return "a: " + "[" * depth + "x" + "]" * depth

    assert read(nested(MAX_DEPTH - 1).encode())
    assert "nested deeper" in refusal(nested(MAX_DEPTH))
    for opening in ("[", "{a: "):
        assert "nested deeper" in refusal("a: " + opening * (MAX_BYTES // len(opening)))


def test_a_bomb_is_refused_at_its_first_anchor() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12)]
    assert "is wrong at line 1: anchors" in refusal("\n".join(lines))


def test_a_text_is_not_shown() -> None:
    assert "s3cret" not in repr(read(b"a: s3cret"))


YAMLISH = st.text("ab:-?[]{}&*!|>%@`'\"#,~<\\x0 \t\n", max_size=60).map(str.encode)


@given(
    st.one_of(
        st.binary(max_size=80), YAMLISH, st.text(max_size=60).map(lambda t: t.encode("utf-8", "ignore"))
    )
)
@example(b"%TAG ! s3cret\n---\na: !x y\n")
@example(b"a: !<tag:yaml.org,2002:python/object/apply:os.system> [x]\n")
@example(b"? " * 500)
@example(b"- " * 500)
@example(b"[" * 5000)
@example(b"a: " + b"\\" * 1000)
@example(b'a: "\\ud800"')
def test_any_bytes_are_a_mapping_or_a_refusal(content: bytes) -> None:
    refused = ""
    try:
        assert isinstance(read(content), dict)
    except UnicodeError:
        raise AssertionError("PyYAML's own words would tell of the content") from None
    except ValueError as error:
        refused = str(error)
    assert refused.isprintable()


@pytest.mark.parametrize(
    "content",
    [
        b"[" * MAX_BYTES,
        b"a: " + b"x" * (MAX_BYTES - 3),
        b"a: '" + b"\n" * (MAX_BYTES - 5) + b"'",
        b"- " * 32768,
    ],
)
def test_the_largest_file_is_read_or_refused_in_words(content: bytes) -> None:
    """Whatever shape it has: no recursion that ends the process, and nothing of the file in the words."""
    words = ""
    try:
        read(content)
    except ValueError as refusal:
        words = str(refusal)
    assert words.isprintable()
    assert len(words) < 500
