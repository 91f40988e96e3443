"""How many may be open at once: in a session, and in the replica (spec 04, Concurrency / streams)."""

from typing import NamedTuple

from foyer.bound import Bound
from foyer.session.seal import SessionID


class Taken(NamedTuple):
    """How many are open now, the one just taken included."""

    in_session: int
    in_replica: int


class Slots:
    """The places of one kind, requests or streams. Sessions with nothing open are not kept."""

    __slots__ = (
        "per_replica",
        "per_session",
        "replica_bound",
        "replica_limit",
        "session_bound",
        "session_limit",
    )

    def __init__(self, session: tuple[Bound, int], replica: tuple[Bound, int]) -> None:
        """The two bounds, each with its limit."""
        self.session_bound, self.session_limit = session
        self.replica_bound, self.replica_limit = replica
        self.per_session: dict[SessionID, int] = {}
        self.per_replica = 0

    def take(self, session_id: SessionID) -> Taken | Bound:
        """A place in both; or the bound that was reached, and nothing is taken."""
        open_now = self.per_session.get(session_id, 0)
        if open_now >= self.session_limit:
            return self.session_bound
        if self.per_replica >= self.replica_limit:
            return self.replica_bound
        self.per_session[session_id] = open_now + 1
        self.per_replica += 1
        return Taken(open_now + 1, self.per_replica)

    def give_back(self, session_id: SessionID) -> None:
        """One of `session_id`'s places is free again. Once for each that was taken."""
        left = self.per_session[session_id] - 1
        if left:
            self.per_session[session_id] = left
        else:
            del self.per_session[session_id]
        self.per_replica -= 1

    def limit(self, bound: Bound) -> int:
        """The limit of one of the two bounds."""
        return self.session_limit if bound is self.session_bound else self.replica_limit
