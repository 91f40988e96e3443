"""What one configured value may be (spec 01, Refused at start).

A parser takes the text as it was given and raises `ValueError` with what the value should be, in
words that follow a flag's name. It never repeats the text: any flag can have a secret pasted
after it by mistake.
"""

import ipaddress
import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Address:
    """Where to listen. An empty `host` is every interface; port 0 lets the system choose one."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


@dataclass(frozen=True, slots=True)
class Origin:
    """Scheme, host and port of a server, each as a browser writes it (RFC 6454 section 6.2).

    `host` is in lower case, an IPv6 address without its brackets.
    """

    scheme: str
    host: str
    port: int

    @property
    def authority(self) -> str:
        """`host`, or `host:port` where the port is not the scheme's own."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == 443 else f"{host}:{self.port}"

    @property
    def url(self) -> str:
        """`https://host[:port]`, exactly as in an `Origin` field: without a trailing slash."""
        return f"{self.scheme}://{self.authority}"


def address(text: str) -> Address:
    """`:8080`, `127.0.0.1:8080`, `[::1]:8080`."""
    host, separator, port = text.rpartition(":")
    if not separator:
        raise ValueError("should be an address such as :8080, 127.0.0.1:8080 or [::1]:8080")
    number = _port(port, lowest=0)
    if host == "*":
        raise ValueError(f"should be :{number} for every interface, without the *")
    return Address(_host(host) if host else "", number)


def optional_address(text: str) -> Address | None:
    """An address, or nothing: then nobody listens."""
    return address(text) if text else None


def origin(text: str) -> Origin:
    """An `https` URL of a server alone: no path, query, fragment or user information."""
    authority, path = _https(text)
    if path not in ("", "/"):
        raise ValueError("should have no path: it names a whole server")
    return _origin(authority)


def issuer(text: str) -> str:
    """An `https` URL, perhaps with a path (OpenID Connect Discovery 1.0 section 3)."""
    authority, _ = _https(text)
    _origin(authority)
    return text


def _https(text: str) -> tuple[str, str]:
    """Authority and path. Read by hand: `urlsplit` drops tabs and newlines and forgets an empty query."""
    if not re.fullmatch(r"[A-Za-z0-9._~:/?#\[\]@!$&'()*+,;=%-]+", text):
        raise ValueError("should be a URL in the characters of RFC 3986, an international name as xn--")
    if text[:8].lower() != "https://":
        raise ValueError("should be a URL that begins with https://")
    if "?" in text or "#" in text:
        raise ValueError("should have no query and no fragment")
    authority, slash, path = text[8:].partition("/")
    if "@" in authority:
        raise ValueError("should have no user name or password in it")
    return authority, slash + path


def _origin(authority: str) -> Origin:
    name, port = authority, "443"
    if ":" in authority and not authority.endswith("]"):
        name, _, port = authority.rpartition(":")
    return Origin("https", _host(name), _port(port, lowest=1))


def _port(text: str, lowest: int) -> int:
    if not re.fullmatch(r"[0-9]{1,5}", text) or not lowest <= int(text) <= 65535:
        raise ValueError(f"should have a port from {lowest} to 65535")
    return int(text)


def _host(text: str) -> str:
    """A name or an address as a browser would write it in an `Origin`."""
    name = text.lower()
    labels = name.split(".")
    try:
        if re.fullmatch(r"\[[0-9a-f:.]+\]", name):
            return str(ipaddress.IPv6Address(name[1:-1]))
        # A browser reads a name whose last label is a number as an IPv4 address, 127.1 included.
        if re.fullmatch(r"[0-9]+|0x[0-9a-f]*", labels[-1]):
            return str(ipaddress.IPv4Address(name))
    except ValueError:
        labels = [""]
    if not all(re.fullmatch(r"[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?", label) for label in labels):
        raise ValueError("should name a host: foyer.example.com, 192.0.2.1 or [2001:db8::1]")
    return name


def label(text: str) -> str:
    """A DNS label (RFC 1123 section 2.1), in lower case, so that a name is spelt in one way."""
    if not re.fullmatch(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?", text):
        raise ValueError("should be a DNS label: at most 63 lower-case letters, digits and -, as in eu-1")
    return text


def duration(text: str) -> float:
    """Seconds of `30m`, `1h30m`, `500ms`. Never zero."""
    number = r"([0-9]{1,9}(?:\.[0-9]{1,9})?)"
    match = re.fullmatch(rf"(?:{number}h)?(?:{number}m)?(?:{number}s)?(?:{number}ms)?", text)
    if match is None or not text:
        raise ValueError("should be a duration such as 30m, 1h30m or 500ms")
    units = zip(match.groups(default="0"), (3600.0, 60.0, 1.0, 0.001), strict=True)
    seconds = sum(float(count) * unit for count, unit in units)
    if not 0 < seconds <= MAX_DURATION:
        raise ValueError("should be a duration above zero and at most 87600h")
    return seconds


MAX_DURATION = 87600 * 3600.0
"""Ten years, in seconds: added to now it is still a date, which a slip of nine digits is not."""


def duration_or_off(text: str) -> float | None:
    """A duration, or None for `off`."""
    if text == "off":
        return None
    try:
        return duration(text)
    except ValueError as error:
        raise ValueError(f"{error}, or off") from None


def count(text: str) -> int:
    """How many of something: at least one."""
    if not re.fullmatch(r"[0-9]{1,9}", text) or not int(text):
        raise ValueError("should be a whole number from 1 to 999999999")
    return int(text)


def rate(text: str) -> float:
    """How many of something a second, which may be less than one: 20, 0.5."""
    if not re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,9})?", text) or float(text) < 0.001:
        raise ValueError("should be a number a second, such as 20 or 0.5, of at least 0.001")
    return float(text)


def resources(text: str) -> frozenset[str]:
    """Resources as kubectl names them, with commas between them."""
    names = text.split(",")
    label = r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?"
    if not all(re.fullmatch(rf"[a-z](?:[-a-z0-9]*[a-z0-9])?(?:\.{label})*", name) for name in names):
        raise ValueError("should be resources with commas between them: configmaps,notes.example.com")
    return frozenset(names)


_SIZES = {"": 1, "KiB": 1024, "MiB": 1024**2, "GiB": 1024**3}


def size(text: str) -> int:
    """Bytes, as a number or such as 32MiB."""
    match = re.fullmatch(r"([0-9]{1,15})(KiB|MiB|GiB)?", text)
    if match is None or not int(match[1]):
        raise ValueError("should be a size above zero, in bytes or such as 64KiB, 32MiB or 1GiB")
    return int(match[1]) * _SIZES[match[2] or ""]


def check_interval(text: str) -> float:
    """A duration from a second, the wheel's tick, to five minutes, for which an ended session may go on."""
    seconds = duration(text)
    if not 1 <= seconds <= 300:
        raise ValueError("should be a duration from 1s to 5m")
    return seconds


def recheck_interval(text: str) -> float:
    """A duration of at least a second, the wheel's tick."""
    seconds = duration(text)
    if seconds < 1:
        raise ValueError("should be a duration of at least 1s")
    return seconds


def session_timeout(text: str) -> float:
    """A duration of at least a second, because sessions end in whole seconds (spec 02)."""
    seconds = duration(text)
    if seconds < 1:
        raise ValueError("should be a duration of at least 1s")
    return seconds


def path(text: str) -> str:
    """A file's path. What is in the file is checked when everything else holds."""
    if not text or "\0" in text:
        raise ValueError("should be the path of a file")
    return text


def client_id(text: str) -> str:
    """Printable ASCII (RFC 6749 appendix A.1)."""
    if not re.fullmatch(r"[ -~]+", text):
        raise ValueError("should be the client ID that the issuer knows foyer by, in printable ASCII")
    return text


def scopes(text: str) -> tuple[str, ...]:
    """Scope tokens (RFC 6749 section 3.3) with commas between them."""
    names = tuple(text.split(","))
    if not all(re.fullmatch(r"[!#-\[\]-~]+", name) for name in names) or len(set(names)) != len(names):
        raise ValueError("should be scopes with commas between them, each once: openid,email,profile")
    if "openid" not in names:
        raise ValueError("should contain openid: without it the issuer sends no ID token")
    if "offline_access" in names:
        raise ValueError("should not contain offline_access: foyer keeps no refresh token")
    return names
