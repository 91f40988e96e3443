"""The demonstration's issuer with a crowd, as a process of its own.

    python -m bench.rehearsal.issuer FOLDER PEOPLE ORIGIN

ORIGIN is foyer's, and FOLDER holds the certificate and the client's secret. Its first line on stdout is its
port.
"""

import asyncio
import gc
import signal
import sys
from pathlib import Path

import uvloop

from bench.limits import raise_file_limit
from bench.rehearsal.loop import answer
from foyer.demo.issuer.forms import Client
from foyer.demo.issuer.provider import Issuer
from foyer.demo.issuer.tokens import Signer
from foyer.demo.people import crowd
from foyer.demo.serving import Serving
from foyer.net.listener import server_context

CLIENT = "foyer"


async def _serve(folder: Path, people: int, origin: str) -> None:
    ended = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, ended.set)
    serving = Serving(server_context(str(folder / "tls.crt"), str(folder / "tls.key")))
    door, port = await serving.listen("127.0.0.1", 0)
    client = Client(CLIENT, (folder / "secret").read_text(), (f"{origin}/auth/callback",))
    issuer = Issuer(serving.url("127.0.0.1", port), client, crowd(people), Signer())
    door.application = serving.server(issuer)
    gc.freeze()
    answer(port)
    await ended.wait()
    serving.close()


if __name__ == "__main__":
    raise_file_limit()
    folder, people, origin = sys.argv[1:]
    uvloop.run(_serve(Path(folder), int(people), origin))
