"""The four pairings: every test in here that asks for `pairing` runs in each of them."""

import sys
from collections.abc import Iterator

import pytest

from tests.support.leaks import Leaks
from tests.support.pairings import ONE_SERVER, Entries, Pairing, Products


@pytest.fixture(scope="session")
def products(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Products]:
    products = Products(tmp_path_factory.mktemp("foyer"))
    yield products
    products.stop()


@pytest.fixture(autouse=True)
def _uncounted() -> Iterator[None]:
    """Coverage counts foyer, which is on a thread of its own here. In the test's own are the peers: following
    their every call took a seventh of the time of these tests, for nothing. A debugger is left alone."""
    trace = sys.gettrace()
    if trace is None or not type(trace).__module__.startswith("coverage"):
        yield
        return
    sys.settrace(None)
    yield
    sys.settrace(trace)


@pytest.fixture(params=["h1", "h2"], ids=lambda version: f"browser-{version}")
def browser_version(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=["h1", "h2"], ids=lambda version: f"upstream-{version}")
def upstream_version(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def tls() -> bool:
    """Whether browsers speak TLS to foyer. A test module may say otherwise."""
    return True


@pytest.fixture
def flags() -> dict[str, str]:
    """foyer's flags beyond the usual. A test module may say otherwise."""
    return {}


@pytest.fixture
def targets() -> Entries:
    """API servers by name, and what the targets file says of each beside its address. A test module may say
    otherwise than that there is one, without such a file."""
    return ONE_SERVER


@pytest.fixture
def pairing(
    browser_version: str,
    upstream_version: str,
    tls: bool,
    flags: dict[str, str],
    targets: Entries,
    products: Products,
) -> Iterator[Pairing]:
    product = products.product(upstream_version, tls, flags, targets)
    pairing = products.pairing(browser_version, upstream_version, product, tls=tls, targets=targets)
    yield pairing
    try:
        pairing.leave()
    except BaseException:
        # One foyer that does not come to rest should fail one test.
        products.discard(product)
        raise
    pairing.check_leaks()


@pytest.fixture
def own_pairing(
    browser_version: str, upstream_version: str, tls: bool, products: Products
) -> Iterator[Pairing]:
    """A pairing with a foyer of its own, which the test stops."""
    product = products.start(upstream_version, tls, {})
    pairing = Pairing(browser_version, products.upstream(upstream_version), product, Leaks(), tls=tls)
    yield pairing
    pairing.leave()
    pairing.check_leaks()
    product.close()
