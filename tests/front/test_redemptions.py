"""What finishing logins may cost the issuer (spec 04, Beyond the seed): so many a second, so many at once."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from foyer.bound import Bound
from foyer.gate.limits import Limits
from foyer.login.flow import CallbackOutcome, SignedIn
from foyer.login.refusal import LoginReason
from tests.front.signing_in import SlowWorld
from tests.login.issuers import reason, refusal, signed_in
from tests.support.hasty import hasten

FEW = Limits(auth_request_rate=0.5, auth_request_burst=3, max_token_requests=2)
MANY = Limits(auth_request_rate=1000.0, auth_request_burst=1000, max_token_requests=2)


def in_a(limits: Limits) -> Callable[[Callable[[SlowWorld], Awaitable[None]]], Callable[[], None]]:
    """Runs an `async` test in a world with these limits."""

    def decorate(test: Callable[[SlowWorld], Awaitable[None]]) -> Callable[[], None]:
        async def within() -> None:
            await test(await SlowWorld(limits).ready())

        def run() -> None:
            hasten(within())

        run.__name__ = test.__name__
        run.__doc__ = test.__doc__
        return run

    return decorate


async def turns() -> None:
    """Whatever can go on without time, goes on."""
    for _ in range(20):
        await asyncio.sleep(0)


# At once


@in_a(MANY)
async def test_as_many_ask_the_issuer_at_once_as_may_and_the_others_get_their_turn(world: SlowWorld) -> None:
    world.provider.open.clear()
    logins = [asyncio.create_task(world.finish()) for _ in range(9)]
    await turns()
    assert world.provider.now_asking == 2
    world.provider.open.set()
    outcomes = await asyncio.gather(*logins)
    assert all(isinstance(outcome.result, SignedIn) for outcome in outcomes)
    assert world.provider.most_asking == 2
    assert len(world.provider.token_requests) == 9


@in_a(MANY)
async def test_whoever_had_no_turn_for_10_seconds_is_told_so_and_the_issuer_never_heard_of_them(
    world: SlowWorld,
) -> None:
    world.provider.open.clear()
    asking = [asyncio.create_task(world.finish()) for _ in range(2)]
    await turns()
    loop = asyncio.get_running_loop()
    began = loop.time()
    waiting = await asyncio.gather(*(world.finish() for _ in range(3)))
    assert 10 <= loop.time() - began < 11
    for outcome in waiting:
        refused = refusal(outcome)
        assert (refused.reason, refused.bound) == (LoginReason.ISSUER_UNAVAILABLE, Bound.TOKEN_REQUESTS)
        assert refused.retry_after is None, "nobody knows when"
        assert refused.retry == "/auth/login?return_to=/a/page"
        assert len(outcome.clear) == 1
    world.provider.open.set()
    for login in asking:
        signed_in(await login)
    assert len(world.provider.token_requests) == 2
    signed_in(await world.finish())


@in_a(MANY)
async def test_a_browser_that_leaves_gives_its_turn_back(world: SlowWorld) -> None:
    world.provider.open.clear()
    logins = [asyncio.create_task(world.finish()) for _ in range(4)]
    await turns()
    for gone in (logins[0], logins[3]):  # one that asks, and one that waits
        gone.cancel()
    await turns()
    assert world.provider.now_asking == 2
    world.provider.open.set()
    outcomes: list[CallbackOutcome | BaseException] = await asyncio.gather(*logins, return_exceptions=True)
    assert [type(outcome) for outcome in outcomes] == [
        asyncio.CancelledError,
        CallbackOutcome,
        CallbackOutcome,
        asyncio.CancelledError,
    ]
    await asyncio.gather(*(world.finish() for _ in range(5)))
    assert world.provider.now_asking == 0


@in_a(MANY)
async def test_a_fault_within_an_exchange_gives_its_turn_back(world: SlowWorld) -> None:
    world.provider.fault = ZeroDivisionError()
    for _ in range(5):
        with pytest.raises(ZeroDivisionError):
            await world.finish()
    world.provider.fault = None
    signed_in(await world.finish())


# A second


@in_a(FEW)
async def test_past_the_burst_a_login_is_told_when_to_come_back_and_the_issuer_is_not_asked(
    world: SlowWorld,
) -> None:
    for _ in range(3):
        signed_in(await world.finish())
    outcome = await world.finish()
    refused = refusal(outcome)
    assert (refused.reason, refused.bound) == (
        LoginReason.LOGIN_RATE_EXCEEDED,
        Bound.AUTH_REQUEST_BURST,
    )
    assert refused.retry_after == 2
    assert refused.retry == "/auth/login?return_to=/a/page"
    assert len(outcome.clear) == 1
    assert len(world.provider.token_requests) == 3
    world.monotonic.advance(2)
    signed_in(await world.finish())


@in_a(FEW)
async def test_the_rate_is_the_replicas_and_nobodys_own(world: SlowWorld) -> None:
    browser = world.browser()
    outcomes = [await world.redemptions.callback(world.comes_back(browser)) for _ in range(2)]
    outcomes += [await world.finish() for _ in range(2)]
    assert [isinstance(outcome.result, SignedIn) for outcome in outcomes] == [True, True, True, False]


@in_a(FEW)
async def test_callbacks_that_open_no_login_cost_nobody_a_turn(world: SlowWorld) -> None:
    """So that nobody can be locked out by who has no login in progress: a flood of them is the server's."""
    browser = world.browser()
    started = browser.start()
    forged = f"/auth/callback?code=c&state={started.state}"
    for head, expected in (
        (world.browser().head(forged), LoginReason.LOGIN_NOT_IN_PROGRESS),
        (browser.head("/auth/callback?code=c&state=another"), LoginReason.LOGIN_NOT_IN_PROGRESS),
        (browser.head("/auth/callback"), LoginReason.MALFORMED_CALLBACK),
        (browser.head(f"/auth/callback?state={started.state}"), LoginReason.MALFORMED_CALLBACK),
        (
            browser.head(f"/auth/callback?error=access_denied&state={started.state}"),
            LoginReason.ISSUER_REFUSED,
        ),
    ):
        for _ in range(20):
            assert reason(await world.redemptions.callback(head)) is expected
    for _ in range(3):
        signed_in(await world.finish())
    assert reason(await world.finish()) is LoginReason.LOGIN_RATE_EXCEEDED


@in_a(FEW)
async def test_what_is_past_the_rate_waits_for_no_turn(world: SlowWorld) -> None:
    world.provider.open.clear()
    logins = [asyncio.create_task(world.finish()) for _ in range(3)]
    await turns()
    assert reason(await world.finish()) is LoginReason.LOGIN_RATE_EXCEEDED
    world.provider.open.set()
    for login in logins:
        signed_in(await login)
