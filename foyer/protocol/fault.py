"""Who was wrong, and what is said about it: a peer's breach of a protocol as a value to raise."""


class ProtocolFault(Exception):
    """The peer broke HTTP: nothing more is read from its connection.

    `status` is what a server answers over HTTP/1.1 when no response has begun; over HTTP/2 the
    codec has queued a GOAWAY by the time this is raised. The message is ours, with nothing of
    what the peer sent.
    """

    def __init__(self, message: str, status: int = 400) -> None:
        super().__init__(message)
        self.message = message
        self.status = status
