"""Who may ask: the Host, the token, where a request comes from; and the headers of every answer."""

import hashlib
import hmac
import ipaddress
from collections import Counter
from contextlib import suppress
from http.cookies import CookieError, SimpleCookie
from typing import Any, NamedTuple

from adabypass.service.errors import RefusedError
from adabypass.service.history import dumps
from adabypass.service.limits import RateLimiter
from adabypass.service.web import ASGIApp, LocalProtocolError, Message, Receive, Response, Scope, Send

COOKIE = "adabypass"
LOCAL = ("localhost", "127.0.0.1", "::1")
MIN_TOKEN = 16
CONTENT_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"
)
HEADERS = {
    "content-security-policy": CONTENT_POLICY,
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}
OPEN_PATHS = ("/", "/healthz", "/readyz", "/openapi.json", "/docs", "/session")
"""What can be asked without a token: nothing of it says anything about a series."""
OPEN_FOLDER = "/page/"
READING = ("GET", "HEAD", "OPTIONS")


class Access(NamedTuple):
    """Who may ask."""

    hosts: frozenset[str]
    """Names by which the service may be called."""
    token: str | None = None

    @property
    def session(self) -> str:
        """The cookie of a page that has shown the token: it does not reveal it."""
        return hmac.new((self.token or "").encode(), b"adabypass page", hashlib.sha256).hexdigest()

    def is_token(self, given: str) -> bool:
        """Return whether a token is the right one, in a time that does not tell how much of it is."""
        return self.token is not None and hmac.compare_digest(given.encode(), self.token.encode())

    def check_host(self, host: str) -> None:
        """Refuse a name that is not the service's: a page elsewhere may have pointed its own name here."""
        if _host_name(host) not in self.hosts:
            raise RefusedError(
                421, "wrong_host",
                "this service is not called by that name; call it by one of its own, or start it with --allow-host "
                "NAME.",
            )  # fmt: skip

    def check_caller(self, method: str, path: str, headers: dict[str, str]) -> None:
        """Refuse a request without the token, and one that a page elsewhere has made."""
        if headers.get("sec-fetch-site") == "cross-site" and (method not in READING or not is_open(path)):
            raise RefusedError(403, "cross_site", "a page of another site has made this request; it is not answered.")
        if self.token is None or is_open(path):
            return
        scheme, _, given = headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer" and self.is_token(given.strip()):
            return
        if hmac.compare_digest(_cookie(headers.get("cookie", "")).encode(), self.session.encode()):
            if method not in READING and headers.get("sec-fetch-site") not in (None, "same-origin"):
                raise RefusedError(403, "cross_site", "a page elsewhere has made this request; it is not answered.")
            return
        raise RefusedError(401, "no_token", "the token is missing or wrong; send Authorization: Bearer TOKEN.")


def is_open(path: str) -> bool:
    """Return whether a path needs no token."""
    return path in OPEN_PATHS or path.startswith(OPEN_FOLDER)


def is_loopback(host: str) -> bool:
    """Return whether only this machine can reach an address."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _host_name(host: str) -> str:
    """Return a Host header without its port."""
    name = host.strip().lower()
    if name.startswith("["):
        return name[1:].partition("]")[0]
    return name.partition(":")[0]


def _cookie(header: str) -> str:
    try:
        found = SimpleCookie(header).get(COOKIE)
    except CookieError:
        return ""
    return "" if found is None else found.value


class Guard:
    """Stands before the application: checks who asks, counts, and adds the headers.

    Parameters
    ----------
    app : ASGI application
    access : Access
    rate : RateLimiter
    """

    def __init__(self, app: ASGIApp, access: Access, rate: RateLimiter) -> None:
        self._app, self._access, self._rate = app, access, rate
        self.answered: Counter[int] = Counter()
        """Responses so far, by status."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            return
        self._keep_path(scope)

        async def answer(message: Message) -> None:
            if message["type"] == "http.response.start":
                self.answered[message["status"]] += 1
                given = {name.lower() for name, _ in message["headers"]}
                message["headers"] += [
                    (name.encode(), value.encode()) for name, value in HEADERS.items() if name.encode() not in given
                ]
                if b"cache-control" not in given:
                    message["headers"].append((b"cache-control", b"no-store"))
            with suppress(LocalProtocolError):  # the client broke the protocol meanwhile, and was told so
                await send(message)

        try:
            self._check(scope)
        except RefusedError as refused:
            await refusal(refused)(scope, receive, answer)
        else:
            await self._app(scope, receive, answer)

    @staticmethod
    def _keep_path(scope: Scope) -> None:
        """Route by the path as it was sent, so that a slash in an id can be written as %2F."""
        raw = scope.get("raw_path")
        if raw:
            scope["path"] = raw.partition(b"?")[0].decode("ascii", "replace")

    def _check(self, scope: Scope) -> None:
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        self._access.check_host(headers.get("host", ""))
        if scope["path"] not in ("/healthz", "/readyz"):
            client: Any = scope.get("client") or ("",)
            self._rate.check(client[0])
        self._access.check_caller(scope["method"], scope["path"], headers)


def refusal(error: RefusedError) -> Response:
    """Return the response to a request that is refused."""
    headers = {} if error.retry_after is None else {"retry-after": str(error.retry_after)}
    if error.status == 401:
        headers["www-authenticate"] = "Bearer"
    body = dumps({"error": error.code, "message": error.message})
    return Response(body, error.status, headers, "application/json")
