"""Resource streams: one scope as a snapshot and then its changes, over Server-Sent Events (spec 05)."""
