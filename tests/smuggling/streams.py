"""HTTP/2 requests that become another request, or two, where somebody writes them as HTTP/1.1.

Public ones: James Kettle's "HTTP/2: The Sequel is Always Worse" (2021), CVE-2021-33193, CVE-2022-41723,
RFC 9113 section 10.3. Each is some streams of one connection, and an honest request after them. In the
octets `<case>` is the case's marker; a field called `<me>` is all of the person's.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from random import Random

from tests.smuggling.person import Person
from tests.support.script import Fields

PATH = b"/k8s/api/v1/<case>/first"
HIDDEN = b"GET /k8s/api/v1/<case>/hidden HTTP/1.1\r\nHost: foyer.test\r\n\r\n"
PSEUDO: Fields = [
    (b":method", b"POST"),
    (b":scheme", b"https"),
    (b":authority", b"foyer.test"),
    (b":path", PATH),
]
ME = (b"<me>", b"")


@dataclass(frozen=True)
class Stream:
    """One request: its fields with the pseudo-header fields, its content by frame, trailers perhaps."""

    fields: tuple[tuple[bytes, bytes], ...] = (*PSEUDO, ME)
    content: tuple[bytes, ...] = (b"{}",)
    trailers: tuple[tuple[bytes, bytes], ...] = ()
    end: bool = True

    def sent(self, person: Person) -> "Stream":
        """As `person` sends it."""

        def filled(text: bytes) -> bytes:
            return text.replace(b"<case>", person.marker)

        theirs = [(name.lower(), value) for name, value in person.fields]
        fields = [pair for own in self.fields for pair in (theirs if own == ME else [own])]
        return Stream(
            tuple((filled(name), filled(value)) for name, value in fields),
            tuple(filled(piece) for piece in self.content),
            self.trailers,
            self.end,
        )

    def told(self, person: Person) -> "Stream":
        """The same without what makes it the person's."""
        theirs = [(name.lower(), value) for name, value in person.fields]
        return replace(self, fields=tuple(pair for pair in self.fields if pair not in theirs))


HONEST = Stream(
    ((b":method", b"GET"), *PSEUDO[1:3], (b":path", b"/k8s/api/v1/<case>/glued"), ME),
    content=(),
)

_NAME = frozenset(b"!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyz")
_TOKEN = _NAME | frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZ")
_OF_THE_CONNECTION = {b"connection", b"keep-alive", b"proxy-connection", b"transfer-encoding", b"upgrade"}


def well_formed(stream: Stream) -> bool:
    """Whether RFC 9113 section 8 knows one reading of this request. Anything else must not go up."""
    names = [name for name, _ in stream.fields]
    pseudo = [name for name in names if name.startswith(b":")]
    values = dict(stream.fields)
    if names[: len(pseudo)] != pseudo or not {b":method", b":scheme", b":path"} <= set(pseudo):
        return False
    if len(set(pseudo)) < len(pseudo) or not set(pseudo) <= {name for name, _ in PSEUDO}:
        return False
    for name, value in [*stream.fields, *stream.trailers]:
        if not set(name.removeprefix(b":")) <= _NAME or name in (b"", b":") or name in _OF_THE_CONNECTION:
            return False
        if set(value) & set(b"\r\n\0") or value != value.strip(b" \t") or (name, value) == (b"te", b"gzip"):
            return False
    lengths = [value for name, value in stream.fields if name == b"content-length"]
    size = sum(map(len, stream.content))
    if any(not length.isdigit() or int(length) != size for length in lengths) or len(set(lengths)) > 1:
        return False
    if any(name.startswith(b":") for name, _ in stream.trailers):
        return False
    path, method = values[b":path"], values[b":method"]
    if not path.startswith(b"/") or not all(0x20 < octet < 0x7F for octet in path):
        return False
    return method != b"" and set(method) <= _TOKEN and stream.end


def is_overlong(stream: Stream) -> bool:
    """Whether there is content beyond its length.

    Left out here: a proxy before or behind has begun such a request, or logged it, before anybody can know
    that more follows, and so their records differ. That none goes up as whole is held by tests/pairings.
    """
    lengths = [value for name, value in stream.fields if name == b"content-length" and value.isdigit()]
    return any(int(length) < sum(map(len, stream.content)) for length in lengths)


def streams() -> Iterator[tuple[str, Stream]]:
    """Every one, by name."""
    return ((name, stream) for name, stream in _streams() if not is_overlong(stream))


def _streams() -> Iterator[tuple[str, Stream]]:
    for name, fields in _FIELDS.items():
        yield f"field, {name}", Stream((*PSEUDO, ME, *fields))
        yield f"field, {name}: a hidden request", Stream((*PSEUDO, ME, *fields), (HIDDEN,))
        yield f"field, {name}: no content", Stream((*PSEUDO, ME, *fields), ())
    for name, value in _PATHS.items():
        yield f"path, {name}", _with(b":path", value)
    for name, value in _METHODS.items():
        yield f"method, {name}", _with(b":method", value)
    for name, value in _AUTHORITIES.items():
        yield f"authority, {name}", _with(b":authority", value)
    for name, value in _SCHEMES.items():
        yield f"scheme, {name}", _with(b":scheme", value)
    for missing in PSEUDO:
        yield f"without {missing[0].decode()}", Stream((*(own for own in PSEUDO if own != missing), ME))
        yield f"{missing[0].decode()} twice", Stream((*PSEUDO, missing, ME))
        yield f"{missing[0].decode()} behind the fields", Stream((*PSEUDO, ME, missing))
        moved = [own for own in PSEUDO if own != missing]
        yield f"{missing[0].decode()} only behind the fields", Stream((*moved, ME, missing))
    yield "another :path behind", Stream((*PSEUDO, (b":path", b"/k8s/api/v1/<case>/hidden"), ME))
    yield "an unknown pseudo-header", Stream((*PSEUDO, (b":path2", PATH), ME))
    yield "a status", Stream((*PSEUDO, (b":status", b"200"), ME))
    yield "a protocol", Stream((*PSEUDO, (b":protocol", b"websocket"), ME), (), end=False)
    connect = tuple((name, b"CONNECT" if name == b":method" else value) for name, value in PSEUDO)
    yield "extended CONNECT", Stream((*connect, (b":protocol", b"websocket"), ME), (), end=False)
    yield "CONNECT", Stream(((b":method", b"CONNECT"), (b":authority", b"foyer.test:443"), ME), (HIDDEN,))
    for length, sent in ((b"0", HIDDEN), (b"1", b"{}"), (b"3", b"{}"), (b"100000", HIDDEN), (b"2", b"")):
        yield (
            f"{len(sent)} octets and a length of {length.decode()}",
            Stream((*PSEUDO, ME, (b"content-length", length)), (sent,) if sent else ()),
        )
    yield "a length reached, and more", Stream((*PSEUDO, ME, (b"content-length", b"2")), (b"{}", HIDDEN))
    yield (
        "a length reached, and an empty frame",
        Stream((*PSEUDO, ME, (b"content-length", b"2")), (b"{}", b"")),
    )
    yield "a length of 0, and an empty frame", Stream((*PSEUDO, ME, (b"content-length", b"0")), (b"",))
    yield "content in many frames", Stream(content=tuple(bytes([octet]) for octet in b"0\r\n\r\nGET /x"))
    yield "no end", Stream(content=(HIDDEN,), end=False)
    for name, trailers in _TRAILERS.items():
        yield f"trailers, {name}", Stream(trailers=trailers)


def near_misses(seed: int) -> Iterator[Stream]:
    """Streams in which mostly one thing is odd: the same ones for the same seed."""
    source = Random(seed)
    whole = [stream for _, stream in streams()]
    while True:
        stream = _near_miss(source, source.choice(whole))
        if not is_overlong(stream):
            yield stream


def _near_miss(source: Random, base: Stream) -> Stream:
    fields = list(base.fields)
    for _ in range(source.choice([0, 1, 1, 2])):
        at = source.randrange(len(fields))
        name, value = fields[at]
        if (name, value) == ME:
            continue
        match source.randrange(5):
            case 0:
                fields.insert(source.randrange(len(fields) + 1), (name, value))
            case 1:
                del fields[at]
            case 2:
                fields[at] = (name, _odd(source, value))
            case 3:
                fields[at] = (_odd(source, name), value)
            case _:
                fields.insert(source.randrange(len(fields) + 1), *source.choice(list(_FIELDS.values()))[:1])
    content = source.choice([base.content, (HIDDEN,), (b"{}", b"", b"x"), ()])
    return replace(base, fields=tuple(fields), content=content)


def _odd(source: Random, text: bytes) -> bytes:
    at = source.choice([0, len(text)]) if b"<" in text else source.randrange(len(text) + 1)
    odd = [
        b"\r",
        b"\n",
        b"\r\n",
        b"\0",
        b" ",
        b"\t",
        b":",
        b"_",
        b"A",
        b"\xff",
        b"\x7f",
        b"?",
        b"#",
        b"/",
        b"%",
    ]
    return text[:at] + source.choice(odd) + text[at:]


def _with(name: bytes, value: bytes) -> Stream:
    return Stream((*((own, value if own == name else given) for own, given in PSEUDO), ME), (HIDDEN,))


_FIELDS: dict[str, Fields] = {
    "chunked": [(b"transfer-encoding", b"chunked")],
    "identity": [(b"transfer-encoding", b"identity")],
    "chunked in capitals": [(b"Transfer-Encoding", b"chunked")],
    "chunked with an underscore": [(b"transfer_encoding", b"chunked")],
    "chunked in another's value": [(b"x-a", b"b\r\nTransfer-Encoding: chunked")],
    "chunked in another's value by LF": [(b"x-a", b"b\nTransfer-Encoding: chunked")],
    "chunked in another's name": [(b"x-a: b\r\ntransfer-encoding", b"chunked")],
    "a length in another's value": [(b"user-agent", b"b\r\nContent-Length: 0")],
    "a request in a value": [(b"user-agent", b"b\r\n\r\n" + HIDDEN)],
    "a request in a name": [(b"x: b\r\n\r\n" + HIDDEN.lower(), b"c")],
    "a CR in a value": [(b"accept", b"a\rb")],
    "a NUL in a value": [(b"accept", b"a\0b")],
    "a CR at a value's end": [(b"accept", b"a\r")],
    "a LF at a value's beginning": [(b"accept", b"\na")],
    "blanks around a value": [(b"accept", b" application/json\t")],
    "a NUL in a name": [(b"x\0a", b"b")],
    "a blank in a name": [(b"x a", b"b")],
    "a blank behind a name": [(b"content-length ", b"0")],
    "a colon behind a name": [(b"content-length:", b"0")],
    "a colon in a name": [(b"x:a", b"b")],
    "an empty name": [(b"", b"b")],
    "a name in capitals": [(b"X-A", b"b")],
    "a name above ASCII": [(b"x-\xc3\xb6", b"b")],
    "connection": [(b"connection", b"keep-alive")],
    "connection that takes out the cookie": [(b"connection", b"cookie, authorization")],
    "keep-alive": [(b"keep-alive", b"timeout=5")],
    "proxy-connection": [(b"proxy-connection", b"close")],
    "upgrade": [(b"upgrade", b"h2c")],
    "te": [(b"te", b"gzip")],
    "te of trailers": [(b"te", b"trailers")],
    "a host": [(b"host", b"foyer.test")],
    "a host that differs": [(b"host", b"evil.test")],
    "two hosts": [(b"host", b"foyer.test"), (b"host", b"evil.test")],
    "two lengths": [(b"content-length", b"2"), (b"content-length", b"0")],
    "a length twice": [(b"content-length", b"2"), (b"content-length", b"2")],
    "a list of lengths": [(b"content-length", b"2, 2")],
    "a length with a plus": [(b"content-length", b"+2")],
    "a length with a blank": [(b"content-length", b" 2")],
    "a length of nothing": [(b"content-length", b"0")],
    "a length that is empty": [(b"content-length", b"")],
    "a length beyond 64 bits": [(b"content-length", b"18446744073709551618")],
    "a length with an underscore": [(b"content_length", b"0")],
    "expect": [(b"expect", b"100-continue")],
    "a token of their own": [(b"authorization", b"Bearer x")],
    "somebody else": [
        (b"impersonate-user", b"root"),
        (b"impersonate_user", b"root"),
        (b"x-remote_user", b"root"),
    ],
    "http2-settings": [(b"http2-settings", b"AAMAAABkAAQAAP__")],
}

_PATHS: dict[str, bytes] = {
    "empty": b"",
    "an asterisk": b"*",
    "no slash": PATH[1:],
    "absolute": b"https://foyer.test" + PATH,
    "absolute elsewhere": b"http://evil.test" + PATH,
    "a blank and a version": PATH + b" HTTP/1.1\r\nX-A: b",
    "a request": PATH + b" HTTP/1.1\r\nHost: foyer.test\r\n\r\n" + HIDDEN[:-4],
    "a blank": PATH + b" x",
    "a tab": PATH + b"\tx",
    "a CR": PATH + b"\rx",
    "a LF": PATH + b"\nx",
    "a NUL": PATH + b"\0x",
    "a fragment": PATH + b"#x",
    "a query": PATH + b"?a=b&c",
    "a query with a blank": PATH + b"?a b",
    "a query with a LF": PATH + b"?a\nb",
    "above ASCII": PATH + b"\xc3\xa9",
    "a dot segment": PATH + b"/../x",
    "an empty segment": PATH + b"//x",
    "a double slash in front": b"/" + PATH,
    "an encoded slash": PATH + b"%2Fx",
    "an encoded CRLF": PATH + b"%0D%0Ax",
    "a backslash": PATH + b"\\x",
}

_METHODS: dict[str, bytes] = {
    "empty": b"",
    "in lower case": b"post",
    "of its own": b"SMUGGLE",
    "a blank": b"POST x",
    "a request line": b"GET /k8s/api/v1/<case>/hidden HTTP/1.1\r\nX-A: b\r\n\r\nPOST",
    "a CRLF behind": b"POST\r\n",
    "a NUL": b"PO\0ST",
    "a colon": b"POST:",
    "a HEAD": b"HEAD",
    "a DELETE": b"DELETE",
    "PRI": b"PRI",
}

_AUTHORITIES: dict[str, bytes] = {
    "empty": b"",
    "another": b"evil.test",
    "a port that is none": b"foyer.test:x",
    "a user": b"a@foyer.test",
    "a path": b"foyer.test/k8s",
    "a CRLF": b"foyer.test\r\nX-A: b",
    "a request": b"foyer.test\r\n\r\n" + HIDDEN,
    "a blank": b"foyer.test x",
    "a NUL": b"foyer.test\0",
}

_SCHEMES: dict[str, bytes] = {
    "empty": b"",
    "plain HTTP": b"http",
    "another": b"ftp",
    "a URL": b"https://foyer.test/k8s?",
    "a CRLF": b"https\r\nX-A: b",
    "a NUL": b"https\0",
}

_TRAILERS: dict[str, tuple[tuple[bytes, bytes], ...]] = {
    "a field": ((b"x-t", b"a"),),
    "a length": ((b"content-length", b"2"),),
    "a coding": ((b"transfer-encoding", b"chunked"),),
    "a token": ((b"authorization", b"Bearer x"),),
    "a path": ((b":path", b"/k8s/hidden"),),
    "a CRLF": ((b"x-t", b"a\r\n\r\nGET / HTTP/1.1"),),
}
