"""An exchange between a fake browser and a fake upstream, admitted and sent on its way."""

from foyer.exchange.endings import Ending
from foyer.exchange.exchange import Exchange, State
from foyer.exchange.ports import ResponseBounds
from foyer.protocol.events import Fields, RequestHead
from tests.exchange.sides import BOUNDS, Admission, Browser, Pool, Services, Upstream

GZIP: Fields = [(b"content-encoding", b"gzip")]


def asked(method: bytes = b"GET", *, ended: bool = True, fields: Fields | None = None) -> RequestHead:
    return RequestHead(method, b"/k8s/api", fields or [], ended=ended)


class Scene:
    """The exchange, and everybody it has to do with."""

    def __init__(
        self,
        request: RequestHead | None = None,
        *,
        at_once: bool = True,
        bounds: ResponseBounds = BOUNDS,
    ) -> None:
        self.services = Services()
        self.browser = Browser()
        self.admission = Admission()
        self.pool = Pool(at_once=at_once)
        request = request or asked()
        self.exchange = Exchange(self.services, self.browser, request)
        self.exchange.admission = self.admission
        self.exchange.forward(request, self.pool.open, bounds)

    @property
    def upstream(self) -> Upstream:
        assert self.pool.side is not None
        return self.pool.side

    def assert_ended(self, ending: Ending) -> None:
        assert self.services.endings == [ending]
        assert self.exchange.ending == ending
        assert self.exchange.state is State.CLOSED
        assert self.admission.closed == 1
        assert self.services.faults == []
