"""The socket, and how the server begins and ends."""

import asyncio
import signal
import socket
from collections.abc import Callable
from pathlib import Path
from types import FrameType

from adabypass.errors import ParameterError
from adabypass.service.guard import LOCAL, MIN_TOKEN, Access, is_loopback
from adabypass.service.routes import Service
from adabypass.service.web import uvicorn

GRACE_SECONDS = 5
"""In which requests may still be answered when the server ends."""
MAX_HEADERS = 32_768
"""Bytes of the headers of a request."""


def make_access(host: str, token: str | None, allowed: tuple[str, ...] = ()) -> Access:
    """Return who may ask; refuse to listen to other machines without a token.

    Parameters
    ----------
    host : str
        Address to listen at.
    token : str, optional
    allowed : list of str
        Further names by which the service is called, as of a proxy in front of it.
    """
    if token is None and not is_loopback(host):
        raise ParameterError(
            f"host is {host!r}, so that other machines could ask; give a token with --token-file, or listen at "
            "127.0.0.1 behind a proxy."
        )
    if token is not None and len(token) < MIN_TOKEN:
        raise ParameterError(
            f"the token has {len(token)} characters, but needs {MIN_TOKEN} or more; make one with: openssl rand -hex 32"
        )
    if token is not None and not (token.isascii() and token.isprintable() and " " not in token):
        raise ParameterError("the token must be one word of ASCII characters; make one with: openssl rand -hex 32")
    own = () if host in ("0.0.0.0", "::") else (host.lower(),)
    return Access(frozenset((*LOCAL, *own, *(name.lower() for name in allowed))), token)


def read_token(path: Path) -> str:
    """Return the token that a file holds."""
    return path.read_text("utf-8").strip()


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # By its protocol asyncio knows that answers need not wait for an acknowledgement, which takes 40 ms.
    found = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind((host, port))
    except OSError as error:
        found.close()
        raise OSError(error.errno, f"cannot listen: {error.strerror}", f"{host} port {port}") from None
    return found


def address(listening: socket.socket) -> str:
    """Return the address of the page."""
    host, port = listening.getsockname()[:2]
    name = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(host, f"[{host}]" if ":" in host else host)
    return f"http://{name}:{port}/"


class Server(uvicorn.Server):
    """Serves until a signal, and lets event streams end first."""

    def __init__(self, service: Service, on_started: Callable[[], None] | None = None) -> None:
        super().__init__(
            uvicorn.Config(
                service, log_level="error", access_log=False, server_header=False, proxy_headers=False, ws="none",
                http="h11", lifespan="on", timeout_graceful_shutdown=GRACE_SECONDS, timeout_keep_alive=30,
                h11_max_incomplete_event_size=MAX_HEADERS,
            )
        )  # fmt: skip
        self._service, self._on_started = service, on_started
        self.is_interrupted = False

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Note a signal; the second Ctrl-C does not wait for those who are being answered."""
        self.force_exit = self.should_exit and sig == signal.SIGINT
        self.is_interrupted |= sig == signal.SIGINT
        self.should_exit = self._service.events.is_closing = True

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to serve."""
        await super().startup(sockets)
        if self.started and self._on_started is not None:
            self._on_started()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End: event streams first, which would never end by themselves."""
        self._service.events.close()
        await super().shutdown(sockets)


def serve(service: Service, listening: socket.socket, on_started: Callable[[], None] | None = None) -> bool:
    """Serve until SIGTERM or Ctrl-C; return whether it was Ctrl-C."""
    if hasattr(signal, "SIGPIPE"):  # a client that leaves is no reason to end
        signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    server = Server(service, on_started)
    asyncio.run(server.serve([listening]))
    return server.is_interrupted
