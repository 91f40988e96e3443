"""An issuer that takes its time, and many browsers that come back from it at once."""

import asyncio

from foyer.exchange.ports import Answer
from foyer.front.redemptions import Redemptions
from foyer.gate.limits import Limits
from foyer.login.flow import CallbackOutcome
from foyer.protocol.events import Fields, RequestHead
from tests.login.issuers import Browser, FakeIssuer, World, discovered
from tests.support.clock import Clock


class SlowIssuer(FakeIssuer):
    """Its token endpoint answers when `open` is set. A code is the nonce that its token is to carry."""

    def __init__(self, clock: Clock) -> None:
        super().__init__(clock)
        self.open = asyncio.Event()
        self.open.set()
        self.now_asking = 0
        self.most_asking = 0
        self.fault: Exception | None = None

    async def __call__(
        self, method: bytes, url: str, fields: Fields, content: bytes = b"", *, limit: int, timeout: float
    ) -> Answer:
        if not url.endswith("/token"):
            return await super().__call__(method, url, fields, content, limit=limit, timeout=timeout)
        self.now_asking += 1
        self.most_asking = max(self.most_asking, self.now_asking)
        try:
            await self.open.wait()
            await asyncio.sleep(0)
            if self.fault is not None:
                raise self.fault
            self.nonce = content.decode().partition("code=")[2].partition("&")[0]
            token = self.signer.token(self.id_token())
            self.token_requests.append((fields, {}))
            return Answer(200, [], b'{"token_type": "bearer", "id_token": "%s"}' % token)
        finally:
            self.now_asking -= 1


class SlowWorld(World):
    """One foyer whose logins are finished through its `Redemptions`."""

    provider: SlowIssuer

    def __init__(self, limits: Limits) -> None:
        super().__init__()
        self.provider = SlowIssuer(self.clock)
        self.issuer._fetch = self.provider
        self.redemptions = Redemptions(self.login, limits, self.monotonic, self.clock)

    async def ready(self) -> "SlowWorld":
        await discovered(self.issuer)
        return self

    def comes_back(self, browser: Browser | None = None) -> RequestHead:
        """A browser whose login is in progress, as the issuer sends it back with a code."""
        browser = browser or self.browser()
        started = browser.start("/a/page")
        return browser.head(f"/auth/callback?code={started.query['nonce']}&state={started.state}")

    async def finish(self) -> CallbackOutcome:
        """One more login, to its end."""
        return await self.redemptions.callback(self.comes_back())
