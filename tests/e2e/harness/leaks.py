"""The search for secrets in all that foyer says, each response and log line (spec 02, What must never leak).

Exactly, for each secret the tests know: client secret, session keys, ID tokens, authorization
codes, session IDs, sealed cookies. By shape, for what they cannot know: anything like a JWT.
And by proof for PKCE verifiers, which never leave foyer's memory in the clear: a string whose
SHA-256 is a challenge that foyer sent is its verifier (RFC 7636 section 4.6).
"""

import base64
import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

_JWT = re.compile(rb"eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.")
_VERIFIER = re.compile(rb"(?<![A-Za-z0-9._~-])[A-Za-z0-9._~-]{43,128}(?![A-Za-z0-9._~-])")


@dataclass(frozen=True, slots=True)
class Seen:
    """Bytes that left foyer, and where they were seen."""

    where: str
    data: bytes = field(repr=False)


class Leaks:
    """Collects what was seen, learns secrets, finds the ones in the others."""

    def __init__(self) -> None:
        self._secrets: dict[bytes, tuple[str, str]] = {}
        self._challenges: set[bytes] = set()
        self._seen: list[Seen] = []
        self._checked = 0

    def learn(self, name: str, secret: str, allowed_in: str = "\0") -> None:
        """From now on `secret` must not be seen, but where the place starts with `allowed_in`."""
        assert len(secret) >= 8, f"{name} is too short to be told from chance"
        self._secrets[secret.encode()] = (name, allowed_in)

    def learn_challenge(self, challenge: str) -> None:
        """A PKCE S256 challenge: its verifier must not be seen."""
        self._challenges.add(challenge.encode())

    def saw(self, where: str, data: bytes) -> None:
        """Something foyer sent or logged."""
        self._seen.append(Seen(where, data))

    def found_since_last_time(self) -> list[str]:
        """What leaked in the things seen since the last call, by the secrets known now."""
        new, self._checked = self._seen[self._checked :], len(self._seen)
        return [finding for seen in new for finding in self._find(seen)]

    def found(self) -> list[str]:
        """What leaked in everything seen, by every secret known now."""
        return [finding for seen in self._seen for finding in self._find(seen)]

    def _find(self, seen: Seen) -> Iterator[str]:
        for secret, (name, allowed_in) in self._secrets.items():
            if secret in seen.data and not seen.where.startswith(allowed_in):
                yield f"{name} in {seen.where}"
        if _JWT.search(seen.data):
            yield f"something like a JWT in {seen.where}"
        if any(_challenge(verifier) in self._challenges for verifier in _VERIFIER.findall(seen.data)):
            yield f"a PKCE verifier in {seen.where}"


def _challenge(verifier: bytes) -> bytes:
    return base64.urlsafe_b64encode(hashlib.sha256(verifier).digest()).rstrip(b"=")
