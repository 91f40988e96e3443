"""foyer held to 256 MiB, and more people than that is enough for (spec 06, Read admission)."""
