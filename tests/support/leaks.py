"""The scan of spec 02, What must never leak: every response and every log line of a test.

Exactly for each secret that the test knows, and by shape for anything that looks like a JWT or a
sealed cookie, whoever made it.
"""

import re

_JWT = re.compile(rb"eyJ[A-Za-z0-9_-]{6,}\.[A-Za-z0-9_-]{6,}\.[A-Za-z0-9_-]{6,}")

# base64url of a sealed session: 01 (its version), eight random bytes of key ID and on. The shortest that
# could be sealed, all claims empty and no token to speak of, has some 100 characters.
_SEALED = re.compile(rb"(?<![A-Za-z0-9_-])A[Q-Za-f][A-Za-z0-9_-]{98,}")

_SHOWN = 40


class Leaks:
    """What one test's answers and log lines may not contain."""

    def __init__(self) -> None:
        self._secrets: dict[bytes, str] = {}
        self._seen: list[tuple[str, bytes]] = []

    def secret(self, value: str | bytes, what: str) -> None:
        """From now on, and looking back, `value` may be nowhere."""
        self._secrets[value.encode() if isinstance(value, str) else value] = what

    def saw(self, where: str, data: bytes) -> None:
        """Something left foyer."""
        self._seen.append((where, data))

    def check(self) -> None:
        """Fails on the first leak, and says what was where without showing it."""
        for where, data in self._seen:
            for value, what in self._secrets.items():
                assert value not in data, f"{what} in {where}"
            for shape, what in ((_JWT, "a JWT"), (_SEALED, "a sealed cookie")):
                found = shape.search(data)
                assert found is None, (
                    f"{what} by its shape in {where}, after {data[: found.start()][-_SHOWN:]!r}"
                )
