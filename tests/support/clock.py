"""A clock that stands still until a test moves it."""


class Clock:
    """Float seconds, as every `now` in foyer is. Called, it tells the time."""

    def __init__(self, now: float = 1_000_000.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now

    def advance(self, seconds: float) -> float:
        """Move on by `seconds` and tell the time."""
        assert seconds >= 0, "this clock is monotonic"
        self.now += seconds
        return self.now
