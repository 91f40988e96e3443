"""`python -m bench.admission FILE`: draws what befalls a simulated server, and what the gate makes of it."""

import sys
from pathlib import Path

from bench.admission.plot import drawn
from bench.admission.scenes import troubled


def main() -> int:
    """Writes the drawing; it is the same every time."""
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    Path(sys.argv[1]).write_text(drawn(troubled()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
