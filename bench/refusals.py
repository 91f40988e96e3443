"""The CPU of a request that foyer refuses by itself, beside one that it serves: refusing must be the cheaper.

Each case is a row, and each kind of refusal needs one: what is asked, by whom, what comes back, and the
bounds that foyer is started with for it to be refused.
"""

from dataclasses import dataclass, field

from bench.messages import H2, VERSIONS
from bench.pairings import Amount
from bench.processes import Bench, Running
from bench.report import Report, per
from bench.servers import WITHOUT_BOUNDS, goref, start_foyer, start_goref
from bench.small import TARGET, each
from bench.watches import TARGET as WATCH

MOST = 1.0
"""Of what a served request costs."""

FLOOD = (0.25, 0.5)
"""The same of what a foyer that is full answers, over each version: it has to bear being asked again.
Over HTTP/2 a head is read whatever is answered, as what it says is about its connection too (RFC 7541)."""


@dataclass(frozen=True, slots=True)
class Case:
    """A request that is refused with `status`. `goref` says whether the yardstick answers the same.

    `bounds` are flags of a foyer for this case alone, and `first` is what fills them: a GET, or a watch
    that stays open. `most` is the aim over each version, of what a served one costs.
    """

    label: str
    status: int
    target: str = TARGET
    signed_in: bool = True
    bounds: dict[str, str] = field(default_factory=dict)
    first: str = WATCH
    goref: bool = False
    most: tuple[float, float] = (MOST, MOST)


CASES = (
    Case("401, no session", 401, signed_in=False, goref=True),
    Case("400, a path that is not canonical", 400, target=TARGET + "/.."),
    Case("404, no such route", 404, target="/nothing/here", goref=True),
    Case(
        "429, the session's rate",
        429,
        bounds={"session-request-rate": "0.001", "session-request-burst": "1"},
        first=TARGET,
    ),
    Case("429, the session's requests", 429, bounds={"max-session-concurrent-requests": "1"}),
    Case("429, everybody's requests", 429, bounds={"max-concurrent-requests": "1"}),
    Case(
        "429, the person's rate",
        429,
        bounds={"user-request-rate": "0.001", "user-request-burst": "1"},
        first=TARGET,
    ),
    Case("503, the whole server", 503, bounds={"max-server-requests": "1"}, most=FLOOD),
)

OF_LOAD = CASES[-2:]
"""Those of the limits on load alone."""


def measure(amount: Amount, report: Report, cases: tuple[Case, ...] = CASES) -> None:
    """Fills the table. The API server speaks HTTP/2; no refusal reaches it."""
    with Bench() as bench:
        api = bench.api(H2)
        foyer, program = start_foyer(bench, api), goref()
        beside = [start_goref(bench, program, api)] if program else []
        served = [each(bench, [foyer, *beside], version, amount) for version in VERSIONS]
        table = report.table("A refused request over sockets, CPU µs", VERSIONS)
        table.row("foyer, served", [costs[0] for costs in served])
        if beside:
            table.row("goref, served", [costs[1] for costs in served])
        for case in cases:
            refusing, *started = _bounded(bench, api, case) if case.bounds else [foyer]
            measured = [refusing, *(beside if case.goref else [])]
            costs = [_refused(bench, measured, version, case, amount) for version in VERSIONS]
            ours = [cost[0] for cost in costs]
            table.row(f"foyer, {case.label}", ours)
            if len(measured) > 1:
                table.row(f"goref, {case.label}", [cost[1] for cost in costs])
            shares = [per(a, b[0]) for a, b in zip(ours, served, strict=True)]
            if len(set(case.most)) == 1:
                table.at_most("  of one served", shares, case.most[0])
            else:
                table.at_most(f"  of one served, {VERSIONS[0]}", [shares[0], None], case.most[0])
                table.at_most(f"  of one served, {VERSIONS[1]}", [None, shares[1]], case.most[1])
            for running in started:
                bench.end(running)


def _refused(bench: Bench, measured: list[Running], version: str, case: Case, amount: Amount) -> list[float]:
    return each(bench, measured, version, amount, case.target, signed_in=case.signed_in, status=case.status)


def _bounded(bench: Bench, api: Running, case: Case) -> list[Running]:
    """A foyer whose bound has been reached; and all that was started for it, in the order to end it in."""
    foyer = start_foyer(bench, api, WITHOUT_BOUNDS | case.bounds)
    first = bench.browsers(foyer, H2, case.first, 1, gets=int(case.first != WATCH))
    return [foyer, first, foyer]
