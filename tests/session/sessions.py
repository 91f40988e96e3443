"""Sessions for tests: one as an issuer would give it, and any at all."""

from hypothesis import strategies as st

from foyer.session.keys import Keyring
from foyer.session.seal import IdToken, Session, SessionID

KEYRING = Keyring([b"k" * 32])

ALICE = Session(
    issuer="https://issuer.test",
    subject="CgVhbGljZRIFbG9jYWw",
    email="alice@example.test",
    display_name="Alice Äpfel",
    groups=("demo-editors", "team-a"),
    connector=None,
    id_token=IdToken(b"header.payload.signature"),
    session_id=SessionID("the session's id"),
    csrf_token="the csrf token",
    issued_at=1_700_000_000,
    ends_at=1_700_028_800,
)

# UTF-8 can say anything but half a surrogate pair, which login refuses.
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)

SECONDS = st.integers(0, 2**40)

SESSIONS = st.builds(
    Session,
    issuer=TEXT,
    subject=TEXT,
    email=TEXT,
    display_name=TEXT,
    groups=st.lists(TEXT, max_size=8).map(tuple),
    connector=st.none() | TEXT.filter(bool),
    id_token=st.text("abcXYZ019-_.", max_size=60).map(str.encode).map(IdToken),
    session_id=TEXT.map(SessionID),
    csrf_token=TEXT,
    issued_at=SECONDS,
    ends_at=SECONDS,
)
