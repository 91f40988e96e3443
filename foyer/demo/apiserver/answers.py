"""Answers as a kube-apiserver dresses them: its fields, its Status documents, its compression."""

from foyer.demo.apiserver import document
from foyer.demo.apiserver.negotiation import GZIP_THRESHOLD, compressed, takes_gzip
from foyer.demo.apiserver.randomness import Randomness
from foyer.demo.apiserver.status import ACCEPTED, Refused
from foyer.demo.handler import Request
from foyer.exchange.ports import Answer
from foyer.protocol.events import Fields

_NOSNIFF = (b"x-content-type-options", b"nosniff")


class Answers:
    """Makes whole answers."""

    def __init__(self, randomness: Randomness) -> None:
        self._randomness = randomness
        # Every answer names its flow in priority and fairness; here all requests are of one.
        self._flow: Fields = [
            (b"x-kubernetes-pf-flowschema-uid", randomness.uid().encode()),
            (b"x-kubernetes-pf-prioritylevel-uid", randomness.uid().encode()),
        ]

    def fields(self, content_type: str = ACCEPTED, *, gzipped: bool = False) -> Fields:
        """The fields of any answer with content."""
        fields = [
            (b"audit-id", self._randomness.uid().encode()),
            (b"cache-control", b"no-cache, private"),
            (b"content-type", content_type.encode()),
            *self._flow,
        ]
        return [*fields, (b"content-encoding", b"gzip"), (b"vary", b"Accept-Encoding")] if gzipped else fields

    def json(self, request: Request, status: int, content: bytes, more: Fields | None = None) -> Answer:
        """JSON, compressed when it is long and the client takes that."""
        whole = content if content.endswith(b"\n") else content + b"\n"
        gzipped = len(whole) > GZIP_THRESHOLD and takes_gzip(request.field(b"accept-encoding"))
        fields = [*self.fields(gzipped=gzipped), *(more or [])]
        return Answer(status, fields, compressed(whole) if gzipped else whole)

    def text(self, status: int, text: str) -> Answer:
        """A few words."""
        return Answer(status, [*self.fields("text/plain; charset=utf-8"), _NOSNIFF], text.encode())

    def no_page(self) -> Answer:
        """What Go's router says where there is nothing."""
        return self.text(404, "404 page not found\n")

    def refusal(self, refusal: Refused) -> Answer:
        """A Status."""
        fields = self.fields()
        if refusal.code == 403:
            fields.append(_NOSNIFF)
        if refusal.retry_after is not None:
            fields.append((b"retry-after", str(refusal.retry_after).encode()))
        return Answer(refusal.code, fields, document.write(refusal.document()) + b"\n")


def warning(text: str) -> tuple[bytes, bytes]:
    """A Warning field (RFC 7234 section 5.5, which Kubernetes still uses): 299, no agent, a quoted text."""
    printable = "".join(char if " " <= char <= "~" else "?" for char in text)
    quoted = printable.replace("\\", "\\\\").replace('"', '\\"')
    return b"warning", f'299 - "{quoted}"'.encode()
