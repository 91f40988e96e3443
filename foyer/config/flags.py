"""One table of flags: reading them, refusing them and the help text all go by its rows (spec 01, Process).

Nothing here looks into a file. A refusal names the flag and never repeats its value.
"""

import difflib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from foyer.config import values


class ConfigError(Exception):
    """Configuration that was refused: `flag` as it is written (`-listen`), and what it should be."""

    def __init__(self, flag: str, message: str) -> None:
        super().__init__(f"{flag}: {message}")
        self.flag = flag
        self.message = message


@dataclass(frozen=True, slots=True)
class Flag:
    """A row of the table.

    `kind` is what help shows in the value's place, with its unit; `default` is as one would type
    it, `None` for no value. `parse` raises `ValueError`.
    """

    name: str
    group: str
    kind: str
    parse: Callable[[str], Any]
    help: str
    default: str | None = None
    required: bool = False

    def __str__(self) -> str:
        return f"-{self.name}"


FLAGS: tuple[Flag, ...] = (
    Flag(
        "listen",
        "Listening",
        "address",
        values.address,
        "Where browsers, or the ingress, connect. :8080 is port 8080 on every interface; port 0 takes a free"
        " one and logs it.",
        # Not 443: an unprivileged process may not take it, and an ingress or Service maps it anyway.
        default=":8080",
    ),
    Flag(
        "tls-cert-file",
        "Listening",
        "file",
        values.path,
        "Certificate chain in PEM, the server's own first. Give it with -tls-key-file; both are read again"
        " when they change. Without the two foyer speaks plain HTTP, for an ingress that terminates TLS.",
    ),
    Flag(
        "tls-key-file",
        "Listening",
        "file",
        values.path,
        "The certificate's private key, in PEM and not encrypted.",
    ),
    Flag(
        "public-url",
        "Listening",
        "https URL",
        values.origin,
        "The origin that browsers see, such as https://apps.example.com. Cookies, the redirect URI and the"
        " check of Origin all use this one; Host and X-Forwarded-Host are never believed.",
        required=True,
    ),
    Flag(
        "oidc-issuer",
        "Signing in",
        "https URL",
        values.issuer,
        "The OpenID Connect issuer, exactly as it names itself in the iss of its tokens.",
        required=True,
    ),
    Flag(
        "oidc-client-id",
        "Signing in",
        "text",
        values.client_id,
        "The client that foyer is at the issuer. The API server has to accept it as an audience.",
        required=True,
    ),
    Flag(
        "oidc-client-secret-file",
        "Signing in",
        "file",
        values.path,
        "The client's secret, alone in a file. A newline at its end is not part of it.",
        required=True,
    ),
    Flag(
        "oidc-ca-file",
        "Signing in",
        "file",
        values.path,
        "Roots to trust for the issuer's certificate, in PEM, beside the system's.",
    ),
    Flag(
        "oidc-scopes",
        "Signing in",
        "list",
        values.scopes,
        "What to ask the issuer for. openid is needed; email and profile are who foyer shows and logs. The"
        " API server may need another, such as groups.",
        default="openid,email,profile",
    ),
    Flag(
        "kubernetes-server",
        "Kubernetes",
        "https URL",
        values.origin,
        "The API server. Every request goes here, with the signed-in person's own token.",
        required=True,
    ),
    Flag(
        "kubernetes-ca-file",
        "Kubernetes",
        "file",
        values.path,
        "Roots to trust for the API server's certificate, in PEM. Without it, the system's.",
    ),
    Flag(
        "session-keys-file",
        "Sessions",
        "file",
        values.path,
        "One to four keys, a line each, as foyer keys prints them. The first seals new sessions and each"
        " opens those it sealed. Read again when it changes.",
        required=True,
    ),
    Flag(
        "session-absolute-timeout",
        "Sessions",
        "duration",
        values.session_timeout,
        "How long after its login a session ends, whatever happens in it. The ID token's own end may come"
        " first.",
        # A working day: nobody signs in twice on one, and a forgotten browser is signed out by the next.
        default="8h",
    ),
)

DEMO_FLAGS: tuple[Flag, ...] = (
    Flag(
        "listen",
        "Listening",
        "address",
        values.address,
        "Where the demo listens. Its two people have no password: keep it on this machine.",
        default="127.0.0.1:8443",
    ),
)


def parse(flags: Sequence[Flag], arguments: Sequence[str]) -> dict[str, Any]:
    """The value of every flag in `flags`, by name. Raises `ConfigError`."""
    given = read_arguments(flags, arguments)
    missing = [str(flag) for flag in flags if flag.required and flag.name not in given]
    if missing:
        raise ConfigError(", ".join(missing), "required, and not given")
    return {flag.name: _value(flag, given.get(flag.name, flag.default)) for flag in flags}


def read_arguments(flags: Sequence[Flag], arguments: Sequence[str]) -> dict[str, str]:
    """Flag names and the text given for each: `-flag value`, `-flag=value`, with one dash or two."""
    names = {flag.name for flag in flags}
    given: dict[str, str] = {}
    rest = list(arguments)
    while rest:
        argument = rest.pop(0)
        name = _name(argument)
        if name not in names:
            raise _unknown(argument, names)
        if name in given:
            raise ConfigError(f"-{name}", "given twice")
        _, equals, text = argument.partition("=")
        if not equals:
            # No value of ours is the name of a flag: the value was forgotten.
            if not rest or _name(rest[0]) in names:
                raise ConfigError(f"-{name}", "needs a value")
            text = rest.pop(0)
        given[name] = text
    return given


def _name(argument: str) -> str | None:
    """What follows the dashes, up to `=`; `None` for an argument that has none."""
    if not argument.startswith("-"):
        return None
    return argument.partition("=")[0].removeprefix("-").removeprefix("-")


def _unknown(argument: str, names: set[str]) -> ConfigError:
    """Names an unknown flag, or an argument that is none, cut short and with nothing unprintable in it."""
    name = _name(argument)
    near = difflib.get_close_matches(name or argument.partition("=")[0], sorted(names), n=1)
    hint = f"; did you mean -{near[0]}?" if near else ""
    if name:
        return ConfigError("-" + ascii(name[:60])[1:-1], f"no such flag{hint}")
    return ConfigError(ascii(argument[:60]), f"not a flag, and nothing else is expected{hint}")


def _value(flag: Flag, text: str | None) -> Any:
    if text is None:
        return None
    try:
        return flag.parse(text)
    except ValueError as error:
        raise ConfigError(str(flag), str(error)) from None
