"""foyer lets a browser application talk to Kubernetes as the signed-in person."""

__version__ = "0.1.0"
