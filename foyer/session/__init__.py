"""Sealed sessions: keys, the cookie, CSRF, and which exchanges a session has open."""
