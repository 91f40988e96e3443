"""HTTP/1.1 requests that some pair of servers reads in two ways, each with a request glued on behind.

Public ones: James Kettle's "HTTP Desync Attacks" (2019) and "HTTP/1.1 must die" (2025), the request
smuggling of bare LF, chunk extensions and trailers (CVE-2025-22871, CVE-2025-43859, CVE-2023-25690,
CVE-2021-40346, CVE-2019-16276), RFC 9112 section 11.2. In the bytes `<case>` is the case's marker, `<me>`
the field lines of the person's, `<len>` the length of the content, `<hex>` that of `HIDDEN`.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from tests.smuggling.person import Person

HOST = b"Host: foyer.test\r\n"
POST = b"POST /k8s/api/v1/<case>/first HTTP/1.1\r\n"
GET = b"GET /k8s/api/v1/<case>/first HTTP/1.1\r\n"

GLUED = b"GET /k8s/api/v1/<case>/glued HTTP/1.1\r\n" + HOST + b"<me>Connection: close\r\n\r\n"
"""What follows on the connection: an honest request, and the last."""

HIDDEN = b"GET /k8s/api/v1/<case>/hidden HTTP/1.1\r\n" + HOST + b"<me>\r\n"
"""A request within another's content."""

PREFIX = b"DELETE /k8s/api/v1/<case>/hidden HTTP/1.1\r\n" + HOST + b"X-Rest: "
"""The beginning of one, for which the next person's cookie would be taken."""

CHUNKED = b"Transfer-Encoding: chunked\r\n"
LENGTH = b"Content-Length: <len>\r\n"


@dataclass(frozen=True)
class Trick:
    """One request and what is glued on behind it, as templates."""

    fields: bytes = LENGTH
    content: bytes = b"{}"
    line: bytes = POST
    host: bytes = HOST
    end: bytes = b"\r\n"
    behind: bytes = GLUED

    def written(self, person: Person) -> bytes:
        """The bytes that `person` sends."""

        def filled(template: bytes) -> bytes:
            return template.replace(b"<case>", person.marker).replace(b"<me>", person.lines)

        hidden = b"%x" % len(filled(HIDDEN))
        content = filled(self.content).replace(b"<hex>", hidden)
        head = filled(self.line + self.host + b"<me>" + self.fields + self.end)
        return head.replace(b"<len>", b"%d" % len(content)) + content + filled(self.behind)


ENDED_EARLY = b"0\r\n\r\n" + HIDDEN
"""Nothing for who reads chunks, everything up to its end for who reads a length (CL.TE)."""

ENDED_EARLY_IN_A_PREFIX = b"0\r\n\r\n" + PREFIX

IN_A_CHUNK = b"<hex>\r\n" + HIDDEN + b"\r\n0\r\n\r\n"
"""A whole chunk for who reads chunks, something else for who reads a length of 4 (TE.CL)."""

CODINGS: dict[str, bytes] = {
    "chunked": CHUNKED,
    "chunked in capitals": b"Transfer-Encoding: CHUNKED\r\n",
    "the name in capitals": b"TRANSFER-ENCODING: chunked\r\n",
    "no blank": b"Transfer-Encoding:chunked\r\n",
    "a tab": b"Transfer-Encoding:\tchunked\r\n",
    "blanks behind": b"Transfer-Encoding: chunked \t \r\n",
    "a blank before the colon": b"Transfer-Encoding : chunked\r\n",
    "a tab before the colon": b"Transfer-Encoding\t: chunked\r\n",
    "a blank before the name": b" Transfer-Encoding: chunked\r\n",
    "folded behind the colon": b"Transfer-Encoding:\r\n chunked\r\n",
    "folded behind a field": b"X-A: b\r\n Transfer-Encoding: chunked\r\n",
    "behind a bare LF": b"X-A: b\nTransfer-Encoding: chunked\r\n",
    "behind a bare CR": b"X-A: b\rTransfer-Encoding: chunked\r\n",
    "ended by a bare LF": b"Transfer-Encoding: chunked\n",
    "ended by CR CR LF": b"Transfer-Encoding: chunked\r\r\n",
    "a vertical tab": b"Transfer-Encoding: \x0bchunked\r\n",
    "a form feed": b"Transfer-Encoding:\x0cchunked\r\n",
    "a no-break space": b"Transfer-Encoding: \xa0chunked\r\n",
    "a NUL": b"Transfer-Encoding: chunked\0\r\n",
    "a NUL in the name": b"Transfer-Encoding\0: chunked\r\n",
    "an underscore": b"Transfer_Encoding: chunked\r\n",
    "a dot": b"Transfer.Encoding: chunked\r\n",
    "quoted": b'Transfer-Encoding: "chunked"\r\n',
    "a parameter": b"Transfer-Encoding: chunked;q=1\r\n",
    "identity before": b"Transfer-Encoding: identity, chunked\r\n",
    "identity behind": b"Transfer-Encoding: chunked, identity\r\n",
    "a comma before": b"Transfer-Encoding: , chunked\r\n",
    "a comma behind": b"Transfer-Encoding: chunked,\r\n",
    "gzip before": b"Transfer-Encoding: gzip, chunked\r\n",
    "twice in a line": b"Transfer-Encoding: chunked, chunked\r\n",
    "twice in two": CHUNKED + CHUNKED,
    "identity in a second line": CHUNKED + b"Transfer-Encoding: identity\r\n",
    "identity in a first line": b"Transfer-Encoding: identity\r\n" + CHUNKED,
    "nothing in a second line": CHUNKED + b"Transfer-Encoding:\r\n",
    "another word": b"Transfer-Encoding: xchunked\r\n",
    "a word behind": b"Transfer-Encoding: chunked x\r\n",
    "a letter less": b"Transfer-Encoding: chunke\r\n",
    "empty": b"Transfer-Encoding:\r\n",
    "taken out by Connection": b"Connection: transfer-encoding\r\n" + CHUNKED,
    "a name that says it twice": b"Transfer-Encoding: Transfer-Encoding: chunked\r\n",
    "a start of a field": b"Foo: bar\r\nTransfer-Encoding\r\n: chunked\r\n",
}

LENGTHS: dict[str, bytes] = {
    "two that are equal": LENGTH + LENGTH,
    "two, the first nothing": b"Content-Length: 0\r\n" + LENGTH,
    "two, the second nothing": LENGTH + b"Content-Length: 0\r\n",
    "a list": b"Content-Length: <len>, <len>\r\n",
    "a list that differs": b"Content-Length: 0, <len>\r\n",
    "a plus": b"Content-Length: +<len>\r\n",
    "a minus": b"Content-Length: -0\r\n",
    "zeros before": b"Content-Length: 000<len>\r\n",
    "hexadecimal": b"Content-Length: 0x<len>\r\n",
    "a fraction": b"Content-Length: <len>.0\r\n",
    "an exponent": b"Content-Length: <len>e0\r\n",
    "an underscore within": b"Content-Length: 0_<len>\r\n",
    "a blank within": b"Content-Length: 0 <len>\r\n",
    "empty": b"Content-Length:\r\n",
    "a letter": b"Content-Length: <len>a\r\n",
    "a NUL behind": b"Content-Length: <len>\0\r\n",
    "quoted": b'Content-Length: "<len>"\r\n',
    "beyond 64 bits": b"Content-Length: 18446744073709551616<len>\r\n",
    "an overflow to a little": b"Content-Length: 18446744073709551618\r\n",
    "a blank before the colon": b"Content-Length : <len>\r\n",
    "a tab before the colon": b"Content-Length\t: <len>\r\n",
    "a blank before the name": b" Content-Length: <len>\r\n",
    "an underscore": b"Content_Length: <len>\r\n",
    "folded": b"Content-Length:\r\n <len>\r\n",
    "folded digits": b"Content-Length: 0\r\n <len>\r\n",
    "behind a bare LF": b"X-A: b\nContent-Length: <len>\r\n",
    "behind a bare CR": b"X-A: b\rContent-Length: <len>\r\n",
    "behind a NUL": b"X-A: b\0\r\nContent-Length: <len>\r\n",
    "taken out by Connection": b"Connection: content-length\r\n" + LENGTH,
    "in another name's shadow": b"Content-Length0: 0\r\n" + LENGTH,
    "a name of 2^16 octets' kind": b"Content-Length" + b"0" * 300 + b":\r\nContent-Length: 0\r\n" + LENGTH,
    "no colon": b"Content-Length <len>\r\n",
    "other digits": b"Content-Length: \xd9\xa2\r\n",
}

CHUNKS: dict[str, bytes] = {
    "honest": b"5\r\nhello\r\n0\r\n\r\n",
    "honest with zeros": b"00005\r\nhello\r\n000\r\n\r\n",
    "a hidden request": IN_A_CHUNK,
    "an extension": b"5;a=b\r\nhello\r\n0\r\n\r\n",
    "an extension with a bare LF": b"5;\nhello\r\n0\r\n\r\n" + HIDDEN,
    "an extension with a bare CR": b"5;a\rb\r\nhello\r\n0\r\n\r\n",
    "an extension that hides": b"2;\nxx\r\n<hex>\r\n0\r\n\r\n" + HIDDEN + b"\r\n0\r\n\r\n",
    "a last chunk's extension with a bare LF": b"5\r\nhello\r\n0;\n\r\n" + HIDDEN,
    "blanks behind the size": b"5 \t\r\nhello\r\n0\r\n\r\n",
    "a blank before the size": b" 5\r\nhello\r\n0\r\n\r\n",
    "a plus": b"+5\r\nhello\r\n0\r\n\r\n",
    "a minus": b"-5\r\nhello\r\n0\r\n\r\n",
    "a base": b"0x5\r\nhello\r\n0\r\n\r\n",
    "an underscore": b"0_5\r\nhello\r\n0\r\n\r\n",
    "a size of 17 digits": b"0" * 16 + b"5\r\nhello\r\n0\r\n\r\n",
    "an overflow to 5": b"100000000000000005\r\nhello\r\n0\r\n\r\n",
    "an overflow of 32 bits": b"100000005\r\nhello\r\n0\r\n\r\n",
    "a negative size in 64 bits": b"fffffffffffffffb\r\nhello\r\n0\r\n\r\n",
    "no size": b"\r\nhello\r\n0\r\n\r\n",
    "no digits": b"zz\r\nhello\r\n0\r\n\r\n",
    "a bare LF behind the size": b"5\nhello\r\n0\r\n\r\n",
    "a bare CR behind the size": b"5\rhello\r\n0\r\n\r\n",
    "a bare LF behind the data": b"5\r\nhello\n0\r\n\r\n",
    "nothing behind the data": b"5\r\nhello0\r\n\r\n",
    "two octets of junk behind the data": b"5\r\nhelloXX0\r\n\r\n",
    "more data than the size": b"3\r\nhello\r\n0\r\n\r\n",
    "less data than the size": b"9\r\nhello\r\n0\r\n\r\n",
    "a blank line of bare LFs": b"5\r\nhello\r\n0\n\n",
    "a last chunk without its line": b"5\r\nhello\r\n0\r\n",
    "a trailer": b"5\r\nhello\r\n0\r\nX-T: a\r\n\r\n",
    "a trailer with a length": b"5\r\nhello\r\n0\r\nContent-Length: 5\r\n\r\n",
    "a trailer with a coding": b"5\r\nhello\r\n0\r\nTransfer-Encoding: chunked\r\n\r\n",
    "a trailer that is a request": b"5\r\nhello\r\n0\r\n" + HIDDEN,
    "a trailer with a bare LF": b"5\r\nhello\r\n0\r\nX-T: a\n\r\n",
    "a trailer with a token of its own": b"5\r\nhello\r\n0\r\nAuthorization: Bearer x\r\n\r\n",
    "a folded trailer": b"5\r\nhello\r\n0\r\nX-T: a\r\n b\r\n\r\n",
    "a trailer without a colon": b"5\r\nhello\r\n0\r\nX-T\r\n\r\n",
    "a trailer behind a blank": b"5\r\nhello\r\n0\r\n X-T: a\r\n\r\n",
    "a chunk behind the last": b"5\r\nhello\r\n0\r\n5\r\nhello\r\n\r\n",
}

LINES: dict[str, bytes] = {
    "an absolute target": b"POST https://foyer.test/k8s/api/v1/<case>/first HTTP/1.1\r\n",
    "an absolute target of plain HTTP": b"POST http://foyer.test/k8s/api/v1/<case>/first HTTP/1.1\r\n",
    "an absolute target elsewhere": b"POST https://evil.test/k8s/api/v1/<case>/first HTTP/1.1\r\n",
    "an absolute target with a user": b"POST https://a@foyer.test/k8s/api/v1/<case>/first HTTP/1.1\r\n",
    "an authority": b"POST foyer.test:443 HTTP/1.1\r\n",
    "CONNECT": b"CONNECT foyer.test:443 HTTP/1.1\r\n",
    "CONNECT of a path": b"CONNECT /k8s/api/v1/<case>/first HTTP/1.1\r\n",
    "an asterisk": b"OPTIONS * HTTP/1.1\r\n",
    "no slash": b"POST k8s/api/v1/<case>/first HTTP/1.1\r\n",
    "a slash that is encoded": b"POST /k8s/api/v1/<case>%2Ffirst HTTP/1.1\r\n",
    "a dot segment": b"POST /k8s/api/v1/<case>/../first HTTP/1.1\r\n",
    "a dot segment that is encoded": b"POST /k8s/api/v1/<case>/%2e%2e/first HTTP/1.1\r\n",
    "an empty segment": b"POST /k8s//api/v1/<case>/first HTTP/1.1\r\n",
    "a double slash in front": b"POST //k8s/api/v1/<case>/first HTTP/1.1\r\n",
    "the prefix that is encoded": b"POST /k8%73/api/v1/<case>/first HTTP/1.1\r\n",
    "another case of the prefix": b"POST /K8S/api/v1/<case>/first HTTP/1.1\r\n",
    "a backslash": b"POST /k8s/api/v1/<case>\\first HTTP/1.1\r\n",
    "a fragment": b"POST /k8s/api/v1/<case>/first#/k8s HTTP/1.1\r\n",
    "a fragment in the query": b"POST /k8s/api/v1/<case>/first?a#b HTTP/1.1\r\n",
    "an encoded CRLF": b"POST /k8s/api/v1/<case>/%0D%0AX:%20y HTTP/1.1\r\n",
    "an encoded NUL": b"POST /k8s/api/v1/<case>/a%00b HTTP/1.1\r\n",
    "an encoded blank and a version": b"POST /k8s/api/v1/<case>/a%20HTTP/1.1 HTTP/1.1\r\n",
    "a query of odd octets": b'POST /k8s/api/v1/<case>/first?a=%0d%0a&b=[]|{}"<>^` HTTP/1.1\r\n',
    "a second question mark": b"POST /k8s/api/v1/<case>/first?a?b HTTP/1.1\r\n",
    "an empty query": b"POST /k8s/api/v1/<case>/first? HTTP/1.1\r\n",
    "a parameter in the path": b"POST /k8s/api/v1/<case>;a=b/first HTTP/1.1\r\n",
    "an octet above ASCII": b"POST /k8s/api/v1/<case>/\xc3\xa9 HTTP/1.1\r\n",
    "a NUL": b"POST /k8s/api/v1/<case>/a\0b HTTP/1.1\r\n",
    "a DEL": b"POST /k8s/api/v1/<case>/a\x7fb HTTP/1.1\r\n",
    "a tab in the target": b"POST /k8s/api/v1/<case>/a\tb HTTP/1.1\r\n",
    "a blank in the target": b"POST /k8s/api/v1/<case>/a b HTTP/1.1\r\n",
    "two blanks": b"POST  /k8s/api/v1/<case>/first HTTP/1.1\r\n",
    "two blanks before the version": b"POST /k8s/api/v1/<case>/first  HTTP/1.1\r\n",
    "a blank behind": b"POST /k8s/api/v1/<case>/first HTTP/1.1 \r\n",
    "tabs": b"POST\t/k8s/api/v1/<case>/first\tHTTP/1.1\r\n",
    "a bare LF": b"POST /k8s/api/v1/<case>/first HTTP/1.1\n",
    "a bare CR": b"POST /k8s/api/v1/<case>/first\rHTTP/1.1\r\n",
    "CR CR LF": b"POST /k8s/api/v1/<case>/first HTTP/1.1\r\r\n",
    "a blank line before": b"\r\n" + POST,
    "two blank lines before": b"\r\n\r\n" + POST,
    "a bare LF before": b"\n" + POST,
    "a blank before": b" " + POST,
    "no version": b"POST /k8s/api/v1/<case>/first\r\n",
    "HTTP/0.9": b"GET /k8s/api/v1/<case>/first HTTP/0.9\r\n",
    "HTTP/1.2": b"POST /k8s/api/v1/<case>/first HTTP/1.2\r\n",
    "HTTP/1.10": b"POST /k8s/api/v1/<case>/first HTTP/1.10\r\n",
    "HTTP/1": b"POST /k8s/api/v1/<case>/first HTTP/1\r\n",
    "HTTP/2.0": b"POST /k8s/api/v1/<case>/first HTTP/2.0\r\n",
    "HTTP/01.1": b"POST /k8s/api/v1/<case>/first HTTP/01.1\r\n",
    "http/1.1": b"POST /k8s/api/v1/<case>/first http/1.1\r\n",
    "HTTP/1.1 twice": b"POST /k8s/api/v1/<case>/first HTTP/1.1 HTTP/1.1\r\n",
    "a method in lower case": b"post /k8s/api/v1/<case>/first HTTP/1.1\r\n",
    "a method of its own": b"SMUGGLE /k8s/api/v1/<case>/first HTTP/1.1\r\n",
    "a method that is no token": b"PO(ST /k8s/api/v1/<case>/first HTTP/1.1\r\n",
    "no method": b" /k8s/api/v1/<case>/first HTTP/1.1\r\n",
    "a method with a colon": b"POST: /k8s/api/v1/<case>/first HTTP/1.1\r\n",
}

HOSTS: dict[str, bytes] = {
    "none": b"",
    "two": HOST + HOST,
    "another": b"Host: evil.test\r\n",
    "two that differ": HOST + b"Host: evil.test\r\n",
    "a path": b"Host: foyer.test/k8s\r\n",
    "a user": b"Host: a@foyer.test\r\n",
    "a port that is none": b"Host: foyer.test:x\r\n",
    "a list": b"Host: foyer.test, evil.test\r\n",
    "empty": b"Host:\r\n",
    "a blank before the name": b" Host: foyer.test\r\n",
    "a blank before the colon": b"Host : foyer.test\r\n",
    "folded": b"Host:\r\n foyer.test\r\n",
    "a CR within": b"Host: foyer\r.test\r\n",
    "a NUL within": b"Host: foyer\0.test\r\n",
}

FIELDS: dict[str, bytes] = {
    "Expect": b"Expect: 100-continue\r\n",
    "Expect in capitals": b"Expect: 100-CONTINUE\r\n",
    "Expect of something else": b"Expect: 200-ok\r\n",
    "Expect twice": b"Expect: 100-continue\r\nExpect: 100-continue\r\n",
    "Expect as a list": b"Expect: 100-continue, 100-continue\r\n",
    "Expect with a word before": b"Expect: y 100-continue\r\n",
    "Upgrade": b"Connection: upgrade\r\nUpgrade: websocket\r\n",
    "Upgrade to HTTP/2": b"Connection: upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n"
    b"HTTP2-Settings: AAMAAABkAAQAAP__\r\n",
    "Upgrade without Connection": b"Upgrade: h2c\r\n",
    "Connection takes out the cookie": b"Connection: cookie, authorization, host\r\n",
    "Connection, empty, and a second": b"Connection:\r\nConnection: keep-alive, x-csrf-token\r\n",
    "close and keep-alive": b"Connection: close, keep-alive\r\n",
    "Proxy-Connection": b"Proxy-Connection: close\r\n",
    "Keep-Alive": b"Keep-Alive: timeout=5\r\n",
    "TE": b"Connection: TE\r\nTE: trailers, chunked\r\n",
    "Trailer": b"Trailer: Content-Length\r\n",
    "a token of their own": b"Authorization: Bearer x\r\n",
    "somebody else": b"Impersonate-User: root\r\nImpersonate_User: root\r\nX-Remote_User: root\r\n",
    "another method": b"X-HTTP-Method-Override: DELETE\r\n",
    "another target": b"X-Original-URL: /hidden\r\nX-Rewrite-Url: /hidden\r\n",
    "a CR in a value that goes up": b"User-Agent: a\rb\r\n",
    "a LF in a value that goes up": b"User-Agent: a\nX-Smuggled: b\r\n",
    "a NUL in a value that goes up": b"User-Agent: a\0b\r\n",
    "octets above ASCII in a value that goes up": b"User-Agent: \xe5\x98\x8a\xe5\x98\x8dX: b\r\n",
    "blanks around a value that goes up": b"Accept: \t application/json \t \r\n",
    "a value that goes up, twice": b"Accept: application/json\r\nAccept: text/plain\r\n",
    "a folded value that goes up": b"Accept: application/json,\r\n text/plain\r\n",
    "no colon": b"X-Odd\r\n",
    "an empty name": b": odd\r\n",
    "a name that is no token": b"X(Odd): a\r\n",
    "a name with a blank": b"X Odd: a\r\n",
    "a name above ASCII": b"X-\xc3\x96dd: a\r\n",
    "two colons": b"X-Odd:: a\r\n",
    "a request line": b"GET /k8s/api/v1/<case>/hidden HTTP/1.1\r\n",
    "a range of a body": b"Content-Range: bytes 0-1/2\r\n",
}


def tricks() -> Iterator[tuple[str, Trick]]:
    """Every one, by name."""
    for name, fields in CODINGS.items():
        yield f"coding, {name}: chunks", Trick(fields, IN_A_CHUNK)
        yield f"coding, {name}: and a length", Trick(LENGTH + fields, ENDED_EARLY)
        yield f"coding, {name}: before a length", Trick(fields + LENGTH, ENDED_EARLY_IN_A_PREFIX)
        yield (
            f"coding, {name}: and a length that is short",
            Trick(b"Content-Length: 4\r\n" + fields, IN_A_CHUNK),
        )
    for name, fields in LENGTHS.items():
        yield f"length, {name}", Trick(fields, HIDDEN)
    for name, content in CHUNKS.items():
        yield f"chunks, {name}", Trick(CHUNKED, content)
        yield f"chunks, {name}: a prefix behind", Trick(CHUNKED, content, behind=PREFIX)
    for name, line in LINES.items():
        yield f"line, {name}", Trick(line=line)
        yield f"line, {name}: a hidden request", Trick(content=HIDDEN, line=line)
    for name, host in HOSTS.items():
        yield f"host, {name}", Trick(host=host)
    for name, fields in FIELDS.items():
        yield f"field, {name}", Trick(LENGTH + fields)
        yield f"field, {name}: chunks", Trick(fields + CHUNKED, b"5\r\nhello\r\n0\r\n\r\n")
        yield f"field, {name}: no content", Trick(fields, b"", line=GET)
    yield from _others()


def _others() -> Iterator[tuple[str, Trick]]:
    old = b"POST /k8s/api/v1/<case>/first HTTP/1.0\r\n"
    yield "HTTP/1.0", Trick(line=old)
    yield "HTTP/1.0 that is kept", Trick(LENGTH + b"Connection: keep-alive\r\n", line=old)
    yield "HTTP/1.0 without Host", Trick(LENGTH, line=old, host=b"")
    yield "HTTP/1.0 with chunks", Trick(CHUNKED, ENDED_EARLY, line=old)
    yield "HTTP/1.0 with chunks, kept", Trick(CHUNKED + b"Connection: keep-alive\r\n", IN_A_CHUNK, line=old)
    yield "HTTP/1.0 without a length", Trick(b"", HIDDEN, line=old)
    yield "a GET with content", Trick(LENGTH, HIDDEN, line=GET)
    yield "a GET with chunks", Trick(CHUNKED, IN_A_CHUNK, line=GET)
    yield "a HEAD with content", Trick(LENGTH, HIDDEN, line=GET.replace(b"GET", b"HEAD"))
    yield "a DELETE with content", Trick(LENGTH, HIDDEN, line=GET.replace(b"GET", b"DELETE"))
    yield "an OPTIONS with content", Trick(LENGTH, HIDDEN, line=GET.replace(b"GET", b"OPTIONS"))
    yield "content without a length", Trick(b"", HIDDEN)
    yield "less content than its length", Trick(b"Content-Length: 100000\r\n", HIDDEN)
    yield "more content than its length", Trick(b"Content-Length: 1\r\n", b"{}")
    yield "a request that waits for who comes next", Trick(behind=PREFIX)
    yield "an upload refused at its head", Trick(LENGTH, HIDDEN, line=POST.replace(b"/k8s/api", b"/k8s//api"))
    yield "an upload to no route", Trick(LENGTH, HIDDEN, line=POST.replace(b"/k8s/api", b"/none"))
    yield (
        "chunks refused at their head",
        Trick(CHUNKED, IN_A_CHUNK, line=POST.replace(b"/k8s/api", b"/k8s//api")),
    )
    yield "to exec", Trick(LENGTH, HIDDEN, line=POST.replace(b"/first", b"/pods/a/exec"))
    three = HIDDEN.replace(b"hidden", b"second") * 3
    yield "four pipelined", Trick(behind=three + GLUED)
    yield (
        "uploads pipelined",
        Trick(behind=b"".join([POST + HOST + b"<me>Content-Length: 2\r\n\r\n{}"] * 3) + GLUED),
    )
    yield "a blank line between two", Trick(behind=b"\r\n" + GLUED)
    yield "a bare LF between two", Trick(behind=b"\n" + GLUED)
    yield "a head ended by bare LFs", Trick(end=b"\n")
    yield "a head ended by CR LF LF", Trick(LENGTH.replace(b"\r\n", b"\r\n\n"), end=b"")
    yield "a head ended by LF CR LF", Trick(end=b"\n\r\n")
    yield "a blank line with a blank", Trick(end=b" \r\n")
    yield "close and another behind", Trick(LENGTH + b"Connection: close\r\n")
