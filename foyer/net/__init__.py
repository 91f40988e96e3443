"""The only sockets, TLS, timers and watched files."""
