"""Which exchanges each session has open in this replica, so that its end can cut them.

It holds only what is open: a session with nothing open is not in it, and a copied cookie used
after a logout opens exchanges that are registered anew (spec 02: a logout revokes nothing).
"""

from typing import Protocol

from foyer.session.seal import SessionID


class Cuttable(Protocol):
    """An open exchange, as far as its session's end is concerned. Compared by identity."""

    def session_ended(self) -> None:
        """Cut the response now. May call `Registry.remove`."""


class Registry:
    """Open exchanges by session.

    A dict for a session's exchanges: they are cut in the order they opened, one is removed in
    constant time, and nine streams take 352 bytes (a set 728).
    """

    __slots__ = ("_open",)

    def __init__(self) -> None:
        self._open: dict[SessionID, dict[Cuttable, None]] = {}

    def add(self, session_id: SessionID, exchange: Cuttable) -> None:
        """The exchange has opened."""
        self._open.setdefault(session_id, {})[exchange] = None

    def remove(self, session_id: SessionID, exchange: Cuttable) -> None:
        """The exchange has closed, by itself or because it was cut. Harmless a second time."""
        exchanges = self._open.get(session_id)
        if exchanges is None:
            return
        exchanges.pop(exchange, None)
        if not exchanges:
            del self._open[session_id]

    def end(self, session_id: SessionID) -> int:
        """Cut every exchange the session has open, and say how many there were.

        One that fails to be cut must not save the others: all are tried before its exception is raised.
        """
        exchanges = self._open.pop(session_id, {})
        faults: list[Exception] = []
        for exchange in exchanges:
            try:
                exchange.session_ended()
            except Exception as fault:  # whatever it is, it is raised below
                faults.append(fault)
        if faults:
            raise ExceptionGroup("exchanges that could not be cut", faults)
        return len(exchanges)

    def __len__(self) -> int:
        """Exchanges open, of all sessions."""
        return sum(map(len, self._open.values()))
