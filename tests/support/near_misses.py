"""A grammar of near-misses for HTTP/1.1: messages each part of which is right most of the time.

Whole messages come of it about as often as broken ones, and a broken one mostly by one fault: the
kind that two readers take for two different things.
"""

from hypothesis import strategies as st

GLUED = b"GET /glued HTTP/1.1\r\nHost: f\r\n\r\n"
"""A request behind another."""


def mostly(right: list[bytes], wrong: list[bytes], *, times: int = 12) -> st.SearchStrategy[bytes]:
    return st.sampled_from(right * max(1, times * len(wrong) // len(right)) + wrong)


def row(*parts: st.SearchStrategy[bytes]) -> st.SearchStrategy[bytes]:
    return st.tuples(*parts).map(b"".join)


def rows(part: st.SearchStrategy[bytes], most: int) -> st.SearchStrategy[bytes]:
    return st.lists(part, max_size=most).map(b"".join)


LINE_END = mostly(
    [b"\r\n"], [b"\n", b"\r", b"\r\r\n", b"\n\r\n", b"\r\n ", b"\r\n\t", b" \r\n", b"", b"\0\r\n"], times=30
)
BLANK_LINE = mostly([b"\r\n"], [b"\n", b"\r", b"", b"\r\n\r\n", b" \r\n"], times=30)
METHOD = mostly([b"GET", b"POST", b"PATCH", b"x-m"], [b"", b"G T", b"GE(T", b"G\0T", b"\r\nGET", b" GET"])
TARGET = mostly([b"/", b"/a?b=c", b"*", b"http://f/"], [b"", b"/a b", b"/\0", b"/\xe9", b"/\t", b"/\r"])
VERSION = mostly(
    [b"HTTP/1.1", b"HTTP/1.1", b"HTTP/1.0"], [b"HTTP/1.2", b"HTTP/2.0", b"http/1.1", b"HTTP/1.1 ", b"HTTP/11"]
)
VALUE = mostly(
    [b"a", b"", b"a, b", b"\xe9", b"a\tb", b"a;b=c:d"],
    [b"a\0", b"a\x0bb", b"\x7f", b"a\rb", b"a\nb", b"\x1b"],
)
LENGTH = mostly(
    [b"0", b"3", b"5", b"005"],
    [b"", b"+3", b"-3", b"3, 3", b"0x3", b"3 ", b" 3", b"3 0", b"3_0", b"\xb3", b"9" * 15, b"9" * 16, b"1e1"],
    times=2,
)
CODING = mostly(
    [b"chunked", b"Chunked"],
    [
        b"gzip",
        b"gzip, chunked",
        b"chunked, chunked",
        b"chunked;a=b",
        b"xchunked",
        b"",
        b"identity",
        b"\x0bchunked",
    ],
    times=2,
)
COLON = mostly([b": ", b":", b":\t"], [b" : ", b"\t:", b"", b" ", b"::", b"\0:"], times=30)
FIELD_LINE = st.one_of(
    row(mostly([b"X-A", b"x_b"], [b"", b" X", b"X Y", b"X\0", b"X(", b"\xe9"]), COLON, VALUE, LINE_END),
    row(
        mostly([b"Content-Length", b"content-lengtH"], [b"Content_Length", b"Content-Length "]),
        COLON,
        LENGTH,
        LINE_END,
    ),
    row(
        mostly([b"Transfer-Encoding"], [b"transfer_encoding", b"TransfeR-EncodinG"]), COLON, CODING, LINE_END
    ),
)
FRAMED_LINE = st.one_of(
    st.just(b"Content-Length: 5\r\n"), st.just(b"Transfer-Encoding: chunked\r\n"), FIELD_LINE, st.just(b"")
)
CHUNK = row(
    mostly(
        [b"1", b"1", b"01", b"0000000000000001"],
        [
            b"",
            b"+1",
            b"-1",
            b"0x1",
            b"1 ",
            b" 1",
            b"1;a=b",
            b"00000000000000001",
            b"g",
            b"2",
            b"1_0",
            b"1;a=\nb",
        ],
        times=20,
    ),
    LINE_END,
    mostly([b"a", b"\r", b"\n", b"\0"], [b"ab", b""]),
    LINE_END,
)
LAST_CHUNK = row(mostly([b"0", b"000"], [b"", b"0;a", b"00000000000000000", b"-0"]), LINE_END)
CHUNKS = row(rows(CHUNK, 3), LAST_CHUNK, rows(row(st.just(b"X-T"), COLON, VALUE, LINE_END), 2), BLANK_LINE)
CONTENT = st.one_of(CHUNKS, st.sampled_from([b"", b"hello", b"\0\r\n\r\n-", b"5\r\nhello\r\n0\r\n\r\n"]))
TAIL = st.sampled_from([b"", b"", GLUED, b"\r\n", b"\0"])
HEAD_END = row(rows(FIELD_LINE, 3), FRAMED_LINE, BLANK_LINE)
REQUESTS = row(
    METHOD,
    st.just(b" "),
    TARGET,
    st.just(b" "),
    VERSION,
    LINE_END,
    st.just(b"Host: f\r\n"),
    HEAD_END,
    CONTENT,
    TAIL,
)
STATUS = mostly(
    [b" 200 OK", b" 200 ", b" 404", b" 204 -", b" 304 -"],
    [b" 20", b" 2000 -", b"200", b" +20 -", b" 200\0", b""],
)
RESPONSES = row(
    mostly([b"HTTP/1.1", b"HTTP/1.0"], [b"HTTP/1.2", b"HTTP/1.1 ", b"ICY"]),
    STATUS,
    LINE_END,
    HEAD_END,
    CONTENT,
    TAIL,
)
