"""Hypothesis without a deadline: a busy machine is no failure. Its own `ci` profile holds under CI."""

import os

from hypothesis import settings

settings.register_profile("foyer", deadline=None)
if "CI" not in os.environ:
    settings.load_profile("foyer")
