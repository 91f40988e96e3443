"""The property of the differential: no two parties read two different sequences of requests.

Who sent a request is known by the token that foyer put on it, what an upstream read by its echo in the
answer, what a proxy read by its log. What does not add up is a finding: a sentence, and the case's bytes.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from tests.smuggling.person import MARKER
from tests.smuggling.recorder import Recorded, Recorder, bearer
from tests.smuggling.streams import Stream, well_formed
from tests.smuggling.visits import Answer, Visit, readings

PREFIX = b"/k8s"

_COMMON = re.compile(rb"[A-Z_-]+")

FORWARDED = {b"accept", b"accept-encoding", b"authorization", b"content-type", b"user-agent"}
FRAMING = {b"content-length", b"transfer-encoding", b"host", b":method", b":scheme", b":authority", b":path"}
BY_A_PROXY = {b"connection", b"x-forwarded-for"}


@dataclass(frozen=True)
class Logged:
    """A request in a proxy's log. `serial` is the number of the request that its own upstream answered."""

    method: bytes
    target: bytes
    status: int
    serial: int | None


class Account:
    """What some visits and a recorder have to say of each other. `direct`: nobody stood before foyer."""

    def __init__(self, visits: list[Visit], recorder: Recorder, *, direct: bool) -> None:
        self._visits = {visit.person.token: visit for visit in visits}
        self._recorder = recorder
        self._direct = direct
        self._recorded: dict[bytes, list[Recorded]] = defaultdict(list)
        for request in recorder.requests:
            self._recorded[request.token].append(request)

    def findings(self) -> Iterator[str]:
        """What does not add up between the browsers, foyer and whoever recorded."""
        for octets in self._recorder.malformed:
            yield f"upstream could not read {octets!r}"
        for request in self._recorder.requests:
            yield from self._of_request(request)
        for head in self._recorder.unfinished:
            yield from self._of_unfinished(head)
        for visit in self._visits.values():
            for finding in self._of_visit(visit):
                yield f"{visit.name}: {finding}; {visit}"

    def _of_request(self, request: Recorded) -> Iterator[str]:
        visit = self._visits.get(request.token)
        if visit is None:
            yield f"nobody's request reached the upstream: {request}"
            return
        if any(marker != visit.person.marker for marker in MARKER.findall(request.target)):
            yield f"{visit.name}: somebody else's request went up in this person's name: {request}"
        names = {name for name, _ in request.fields}
        if unexpected := names - FORWARDED - FRAMING - BY_A_PROXY:
            yield f"{visit.name}: fields went up that never do: {unexpected}"

    def _of_unfinished(self, head: bytes) -> Iterator[str]:
        """A request that began and was cut: only one that was not whole where it came from."""
        visit = self._visits.get(bearer(head))
        if visit is None:
            yield f"the upstream was left with nobody's {head!r}"
        elif self._direct and not visit.left and is_clean(visit):
            yield f"{visit.name}: cut upstream, though each of its requests was whole; {visit}"

    def _of_visit(self, visit: Visit) -> Iterator[str]:
        yield from visit.faults
        if visit.reset and self._direct:
            yield "foyer reset the connection, which may lose the answers on their way"
        recorded = self._recorded[visit.person.token]
        answered = [answer for answer in visit.answers if answer is not None and answer.serial is not None]
        for answer in answered:
            request = self._recorder.requests[answer.serial or 0]
            if request not in recorded:
                yield f"the answer to somebody else's request: {request}"
            elif answer.content and answer.content != request.echo:
                yield f"another answer than the one to {request}"
        got = sorted(answer.serial or 0 for answer in answered)
        took = [request.serial for request in recorded]
        if isinstance(visit.sent, bytes) and got != [answer.serial for answer in answered]:
            yield "answers out of order"
        # Whoever leaves first may miss the last answers, but gets none twice and none that is not its own.
        if took[: len(got)] != got if visit.left or visit.reset else took != got:
            yield f"requests {took} went up, and the answers are to {got}: {recorded}"
        if self._direct:
            yield from self._as_sent(visit, recorded)

    def _as_sent(self, visit: Visit, recorded: list[Recorded]) -> Iterator[str]:
        if isinstance(visit.sent, bytes):
            yield from _of_bytes(visit, visit.sent, recorded)
        else:
            yield from _of_streams(visit, visit.sent)

    def of_log(self, log: Iterable[Logged], *, before_foyer: bool) -> Iterator[str]:
        """What does not add up between a proxy's log and the recorder."""
        lines: dict[int, list[Logged]] = defaultdict(list)
        refused: list[Logged] = []
        for line in log:
            if line.serial is not None:
                lines[line.serial].append(line)
            elif not before_foyer:
                refused.append(line)
        yield from self._refused_by_a_proxy(refused)
        prefix = PREFIX if before_foyer else b""
        for request in self._recorder.requests:
            expected = [(request.method, prefix + request.target)]
            read = [(line.method, line.target) for line in lines.pop(request.serial, [])]
            visit = self._visits.get(request.token)
            # Of whom a visitor left before the answer came, the log has no number.
            if read != expected and (read or visit is None or not (visit.left or visit.reset)):
                yield f"the proxy read {read} and not {request}"
        if lines:
            yield f"the proxy has answers that were given to nobody: {lines}"

    def _refused_by_a_proxy(self, refused: list[Logged]) -> Iterator[str]:
        """Of what foyer sends, a proxy behind it passes on whole what was whole, and can read everything.

        What was whole for foyer is known where nobody stood before it.
        """
        if not self._direct:
            return
        unreadable = []
        for line in refused:
            markers = set(MARKER.findall(line.target))
            visits = [visit for visit in self._visits.values() if visit.person.marker in markers]
            if not visits:
                unreadable.append(line)
            elif any(not visit.left and is_clean(visit) for visit in visits):
                yield f"a request of foyer's that a proxy did not pass on: {line}; {visits[0]}"
        # It may refuse what RFC 9110 lets anybody say, and does not log what that was.
        odd = [visit for visit in self._visits.values() if any(map(_is_odd, requests_of(visit)))]
        if len(unreadable) > len(odd):
            yield f"requests of foyer's that a proxy could not read: {unreadable}; of {len(odd)} odd ones"


def is_clean(visit: Visit) -> bool:
    """Whether a strict reader finds requests in all that was sent, and each of them whole."""
    if isinstance(visit.sent, bytes):
        return not readings(visit.sent)[1]
    return all(map(well_formed, visit.sent))


def requests_of(visit: Visit) -> list[tuple[bytes, bytes]]:
    """Method and target of each request in what was sent."""
    if isinstance(visit.sent, bytes):
        starts = [request.start.split(b" ") for request in readings(visit.sent)[0]]
        return [(start[0], start[1]) for start in starts]
    heads = [dict(stream.fields) for stream in visit.sent]
    return [(head.get(b":method", b""), head.get(b":path", b"")) for head in heads]


def _is_odd(request: tuple[bytes, bytes]) -> bool:
    """nginx knows no method with small letters, neither nginx nor HAProxy one called PRI, and no NUL."""
    method, target = request
    return not _COMMON.fullmatch(method) or method == b"PRI" or b"%00" in target


def _of_bytes(visit: Visit, sent: bytes, recorded: list[Recorded]) -> Iterator[str]:
    """The n-th answer is to the n-th request that a strict reader finds; behind the last is one refusal."""
    requests, behind = readings(sent)
    expected = [(*request.start.split(b" ")[:2], request.content) for request in requests]
    if len(visit.answers) > len(requests) + bool(behind):
        yield "more answers than requests"
    for place, answer in enumerate(visit.answers):
        assert answer is not None
        if answer.serial is None:
            if answer.status < 400:
                yield f"answered {answer.status} by foyer itself"
        elif place >= len(expected):
            yield f"went up, and cannot be read: {behind!r}"
        elif answer.content and not _same(answer, expected[place]):
            yield f"went up as {answer.read}"
    went_up = [(request.method, PREFIX + request.target, request.content) for request in recorded]
    rest = iter(expected)
    if not all(request in rest for request in went_up):
        yield f"{went_up} went up, of {expected}"


def _of_streams(visit: Visit, sent: tuple[Stream, ...]) -> Iterator[str]:
    for stream, answer in zip(sent, visit.answers, strict=True):
        if answer is None or answer.serial is None:
            if answer is not None and answer.status < 400:
                yield f"answered {answer.status} by foyer itself"
            continue
        fields = dict(stream.fields)
        if not well_formed(stream):
            yield f"went up, and is malformed: {stream}"
        elif answer.content:
            expected = fields[b":method"], fields[b":path"], b"".join(stream.content)
            if not _same(answer, expected):
                yield f"went up as {answer.read}"


def _same(answer: Answer, expected: tuple[bytes, ...]) -> bool:
    method, target, content = answer.read
    return (method, PREFIX + target, content) == expected
