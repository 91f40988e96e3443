"""What stands around the server that is rehearsed: an issuer, and an API server with the one object.

`StandIns` are this folder's own, cheap to run and the same for everybody. `bench.rehearsal.cluster` has the
real ones.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol

from bench.processes import Bench
from bench.rehearsal.issuer import CLIENT
from bench.servers import ORIGIN


class Surroundings(Protocol):
    """An issuer and an API server."""

    name: str
    origin: str
    """foyer's, for the browsers."""
    listen: str
    ca_file: str
    shared_token: str
    """The file of the token that shared watches are opened with."""

    def flags(self) -> Mapping[str, str]:
        """foyer's: where the two are, and its certificate."""

    def people(self, count: int) -> Sequence[Mapping[str, str]]:
        """What each fills in to sign in."""

    def change(self, mark: str) -> int:
        """Changes the object; when, in nanoseconds of the monotonic clock."""

    def watches(self) -> int:
        """Open at the API server now, by its own account."""

    def reviews(self) -> int:
        """Access reviews that the API server has answered so far."""

    def cpu(self) -> float:
        """Seconds of CPU that the API server has used."""


class StandIns:
    """The API server of this folder, and the demonstration's issuer with a crowd."""

    name = "stand-ins"
    origin = ORIGIN
    listen = "127.0.0.1:0"

    def __init__(self, bench: Bench, people: int) -> None:
        self._bench = bench
        folder = str(bench.path("tls.crt").parent)
        self.ca_file = str(bench.path("ca.crt"))
        self.shared_token = str(bench.path("shared-token"))
        bench.path("shared-token").write_text(f"{'shared' * 100}\n")
        self._api = bench.python("bench.rehearsal.api", folder)
        self._api.port = self._api.line()
        self._issuer = bench.python("bench.rehearsal.issuer", folder, str(people), ORIGIN)
        self._issuer.port = self._issuer.line()

    def flags(self) -> Mapping[str, str]:
        path = self._bench.path
        return {
            "tls-cert-file": str(path("tls.crt")),
            "tls-key-file": str(path("tls.key")),
            "public-url": ORIGIN,
            "oidc-issuer": f"https://127.0.0.1:{self._issuer.port}",
            "oidc-client-id": CLIENT,
            "oidc-client-secret-file": str(path("secret")),
            "oidc-ca-file": self.ca_file,
            "kubernetes-server": f"https://127.0.0.1:{self._api.port}",
            "kubernetes-ca-file": self.ca_file,
            "session-keys-file": str(path("keys")),
        }

    def people(self, count: int) -> Sequence[Mapping[str, str]]:
        return [{"email": f"user-{number:04}@example.com"} for number in range(1, count + 1)]

    def change(self, mark: str) -> int:
        self._api.say({"do": "change", "mark": mark})
        return int(self._api.line()["at"])

    def watches(self) -> int:
        return self._count()["watches"]

    def reviews(self) -> int:
        return self._count()["access"]

    def tokens(self) -> int:
        """Different tokens that watches were opened with."""
        return self._count()["tokens"]

    def cpu(self) -> float:
        return self._api.cpu

    def _count(self) -> dict[str, int]:
        self._api.say({"do": "count"})
        found: dict[str, int] = self._api.line()
        return found
