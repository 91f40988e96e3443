"""A gate with a fake clock, and exchanges that note what they are told."""

from foyer.bound import MEASURED, Bound
from foyer.gate.admission import Admission
from foyer.gate.callers import Callers
from foyer.gate.gate import Gate, Kind
from foyer.gate.limits import Limits
from foyer.gate.wheel import TICK, Wheel
from foyer.session.seal import Session, SessionID
from tests.session.sessions import ALICE, KEYRING

ORIGIN = "https://app.example.test"

BOB = ALICE._replace(session_id=SessionID("bob's session"))


class Noted:
    """A series whose values are kept."""

    def __init__(self) -> None:
        self.values: list[float] = []

    def observe(self, value: float) -> None:
        assert 0 <= value <= 1
        self.values.append(value)


class Open:
    """An open exchange that closes when it is cut, as every one does."""

    def __init__(self) -> None:
        self.told: list[str] = []
        self.admission: Admission | None = None

    def session_ended(self) -> None:
        self._cut("session ended")

    def duration_reached(self) -> None:
        self._cut("duration reached")

    def _cut(self, why: str) -> None:
        self.told.append(why)
        assert self.admission is not None
        self.admission.close()


class World:
    """A gate whose seconds a test lets pass: `monotonic` is the wheel's clock, `wall` the sessions'."""

    def __init__(
        self,
        limits: Limits | None = None,
        absolute_timeout: float = 8 * 3600.0,
        *,
        callers: Callers | None = None,
    ) -> None:
        self.monotonic = 1000.25
        self.wall = float(ALICE.issued_at + 60)
        self.wheel = Wheel(self.monotonic)
        self.usage = {bound: Noted() for bound in MEASURED}
        self.gate = Gate(
            lambda: KEYRING,
            ORIGIN,
            absolute_timeout,
            limits=limits or Limits(),
            wheel=self.wheel,
            now=lambda: self.monotonic,
            clock=lambda: self.wall,
            usage=self.usage,
            callers=callers,
        )

    def admit(self, session: Session = ALICE, kind: Kind = Kind.REQUEST) -> Open:
        """One that the gate lets through."""
        exchange = Open()
        admission = self.gate.admit(session, exchange, kind)
        assert isinstance(admission, Admission), admission
        exchange.admission = admission
        return exchange

    def pass_time(self, seconds: float) -> None:
        """A tick a second, as the application has it."""
        until = self.monotonic + seconds
        while self.monotonic < until:
            step = min(TICK, until - self.monotonic)
            self.monotonic += step
            self.wall += step
            self.wheel.turn(self.monotonic)

    def observed(self, bound: Bound) -> list[float]:
        return self.usage[bound].values
