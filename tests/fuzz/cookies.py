"""What reads a request's cookies: by name, and the session and the login that a cookie seals.

A cookie is found where a reader of every cookie finds it. A value opens only when it is one that was
sealed, octet for octet, and never raises: neither a forged one, nor one whose seal is sound and whose
parts are anything.
"""

from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from foyer.login.progress import COOKIE_PREFIX, LoginSeal, cookie_name
from foyer.protocol.events import Fields
from foyer.session import spelling
from foyer.session.cookies import sole, values, with_prefix
from foyer.session.keys import Keyring
from foyer.session.live import presented, signed_in
from foyer.session.seal import COOKIE, MAX_VALUE_BYTES, open_session
from tests.fuzz.target import Target, joined, parted

_KEY = b"k" * 32
_KEYRING = Keyring([_KEY, b"l" * 32])
_NAME = COOKIE.encode()
_LOGINS = LoginSeal()


def _derived(purpose: bytes, length: int) -> bytes:
    return HKDF(SHA256(), length, salt=None, info=purpose).derive(_KEY)


_KEY_ID = _derived(b"foyer session v1: key id", 8)
_SEAL = AESGCM(_derived(b"foyer session v1: encryption", 32))


def _sealed(parts: bytes, version: bytes = b"\x01") -> bytes:
    """The value of any parts: by the format's description, and with a nonce that is always the same."""
    head, nonce = version + _KEY_ID, bytes(12)
    return spelling.encode(head + nonce + _SEAL.encrypt(nonce, parts, _NAME + head)).encode()


_PARTS = b"\xff".join(
    b"1700000000 1700028800 a.b.c https://issuer.test subject a@a.test Ada  an-id a-token editors".split(b" ")
)
_KNOWN = {_sealed(_PARTS), _sealed(_PARTS + b"\xffmore"), _sealed(_PARTS.rpartition(b"\xff")[0])}


def check(data: bytes) -> None:
    """Lines of a `Cookie` field each, and once more as the parts of a session."""
    text, whims = parted(data)
    fields: Fields = [(b"cookie", line) for line in text.split(b"\n")]
    _found_by_name(fields)
    value = sole(fields, _NAME)
    if whims[:1] == b"\x01":
        value = text
    if value is not None:
        _opens_what_was_sealed(value)
    shown = presented(fields, _KEYRING)
    assert shown is None or signed_in(fields, _KEYRING, shown.ends_at, 1e9) is None
    name = cookie_name(text).encode()
    assert _LOGINS.open(name, text) is None
    assert len(_LOGINS.make_room([*fields, (b"cookie", name + b"=" + text.replace(b";", b""))])) <= 16
    _any_parts(text)


def _found_by_name(fields: Fields) -> None:
    pairs = [cookie.strip(b" \t").partition(b"=") for _, line in fields for cookie in line.split(b";")]
    expected = [value.strip(b" \t") for name, equals, value in pairs if name == _NAME and equals]
    assert values(fields, _NAME) == expected
    assert sole(fields, _NAME) == (expected[0] if len(expected) == 1 else None)
    prefix = COOKIE_PREFIX.encode()
    assert with_prefix(fields, prefix) == [
        (name, value.strip(b" \t")) for name, equals, value in pairs if name.startswith(prefix) and equals
    ]


def _opens_what_was_sealed(value: bytes) -> None:
    session = open_session(value, _KEYRING)
    assert (session is not None) == (value in _KNOWN)


def _any_parts(parts: bytes) -> None:
    """Sealed by a key of ours, so perhaps by another version of foyer."""
    assert open_session(_sealed(parts, b"\x02"), _KEYRING) is None
    value = _sealed(parts)
    session = open_session(value, _KEYRING)
    if session is not None:
        assert len(value) <= MAX_VALUE_BYTES
        assert parts.count(b"\xff") >= 9 and session.connector != ""


def _seeds() -> list[bytes]:
    value = min(_KNOWN)
    cookie = _NAME + b"=" + value
    login = COOKIE_PREFIX.encode() + b"A" * 22 + b"=AAAA"
    return [
        joined(value, (1,)),
        joined(value + b"=", (1,)),
        joined(value[:-1] + bytes([value[-1] + 1]), (1,)),
        joined(cookie),
        joined(b"a=1; " + cookie + b" ;\t" + login),
        joined(cookie + b"\n" + cookie),
        joined(b"x" + cookie + b"; a=" + cookie),
        joined(b"; ".join([login, login.replace(b"A", b"B"), login.replace(b"A", b"C")])),
        joined(_PARTS),
    ]


TARGET = Target(
    "cookies", check, _seeds, words=(_NAME + b"=", b"; ", b"\xff", b"\n", b"__Host-", COOKIE_PREFIX.encode())
)
