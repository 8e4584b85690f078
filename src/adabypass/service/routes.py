"""What can be asked of the service, and how it answers."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, TypeVar
from urllib.parse import unquote_to_bytes

from adabypass.errors import AdabypassError, StateError
from adabypass.page import asset, assets
from adabypass.service import requests
from adabypass.service.errors import RefusedError
from adabypass.service.events import Events
from adabypass.service.guard import COOKIE, Access, Guard, refusal
from adabypass.service.history import Kept, dumps
from adabypass.service.keeper import Keeper
from adabypass.service.limits import RateLimiter
from adabypass.service.metrics import TYPE as METRICS_TYPE
from adabypass.service.metrics import metrics
from adabypass.service.openapi import describe, readable
from adabypass.service.web import (
    ClientDisconnect,
    Convertor,
    HTTPException,
    Request,
    Response,
    Route,
    Starlette,
    StreamingResponse,
    register_url_convertor,
)

MAX_LISTED, MAX_ANSWERS = 1_000, 5_000
SESSION_SECONDS = 30 * 24 * 3600
LOG = logging.getLogger(__name__)
Found = TypeVar("Found")
Handler = Callable[[Request], Awaitable[Response]]


class IdConvertor(Convertor[str]):
    """The id of a series in a path: percent-encoded where it has a slash."""

    regex = "[^/]+"

    def convert(self, value: str) -> str:
        try:
            return unquote_to_bytes(value).decode()
        except UnicodeDecodeError:
            return ""  # which is no id

    def to_string(self, value: str) -> str:
        raise NotImplementedError("paths are not made, only read.")


register_url_convertor("id", IdConvertor())


class Service:
    """The application: an ASGI callable.

    Parameters
    ----------
    keeper : Keeper
        Closed when the application ends.
    access : Access
    """

    def __init__(self, keeper: Keeper, access: Access) -> None:
        self.keeper, self.access, self.limits = keeper, access, keeper.limits
        self.events = Events(keeper.history, keeper.stream.n_learned, self.limits.max_event_streams)
        self._learner = ThreadPoolExecutor(1, "learn")
        """Learns one request after another, in the order in which they came."""
        self._loop: asyncio.AbstractEventLoop | None = None
        keeper.on_learned = self._on_learned
        app = Starlette(
            routes=self._routes(), lifespan=self._lifespan,
            exception_handlers={HTTPException: _http_error, RefusedError: _refused, StateError: _not_writable,
                                AdabypassError: _library_error, ClientDisconnect: _gone, Exception: _unexpected},
        )  # fmt: skip
        app.router.redirect_slashes = False
        self.guard = Guard(app, access, RateLimiter(self.limits.rate))

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer a request."""
        await self.guard(scope, receive, send)

    def _routes(self) -> list[Route]:
        one = "/series/{id:id}"
        table: list[tuple[str, str, Handler]] = [
            ("/observations", "POST", self._learn),
            ("/series", "GET", self._list),
            (one, "GET", self._describe),
            (one, "PUT", self._register),
            (one, "DELETE", self._forget),
            (f"{one}/observations", "POST", self._learn),
            (f"{one}/answers", "GET", self._answers),
            (f"{one}/forecast", "GET", self._forecast),
            (f"{one}/changes", "GET", self._changes),
            (f"{one}/explain", "GET", self._explain),
            ("/events", "GET", self._follow),
            ("/session", "POST", self._log_in),
            ("/session", "DELETE", self._log_out),
            ("/healthz", "GET", self._health),
            ("/readyz", "GET", self._readiness),
            ("/metrics", "GET", self._metrics),
            ("/openapi.json", "GET", self._openapi),
            ("/docs", "GET", self._docs),
            ("/", "GET", partial(self._page, "index.html")),
        ]
        pages = [Route(f"/page/{name}", partial(self._page, name), methods=["GET"]) for name in assets()]
        return [*_by_path(table), *pages]

    @asynccontextmanager
    async def _lifespan(self, app: Starlette) -> AsyncIterator[None]:
        self._loop = asyncio.get_running_loop()
        try:
            yield
        finally:
            self.events.close()
            await self._loop.run_in_executor(self._learner, self.keeper.close)
            self._learner.shutdown()

    def _on_learned(self, answers: list[Kept]) -> None:
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self.events.publish, answers)

    def learn_now(self, observations: list[requests.Observation]) -> None:
        """Learn observations that came another way, in their turn; called in another thread."""
        self._learner.submit(self.keeper.learn, observations).result()

    async def _in_turn(self, function: Callable[[], Found]) -> Found:
        """Call a function that changes what is kept, after those that came before."""
        return await asyncio.get_running_loop().run_in_executor(self._learner, function)

    async def _body(self, request: Request) -> bytes:
        """Return the body of a request; refuse one that is too large, or too slow."""
        body = bytearray()
        try:
            async with asyncio.timeout(self.limits.body_seconds):
                async for part in request.stream():
                    body += part
                    if len(body) > self.limits.max_body:
                        raise RefusedError(
                            413, "too_large",
                            f"the body has more than {self.limits.max_body} bytes; send fewer observations at once.",
                        )  # fmt: skip
        except TimeoutError:
            raise RefusedError(
                408, "too_slow", f"the body has not arrived within {self.limits.body_seconds:g} s; send it faster."
            ) from None
        return bytes(body)

    async def _learn(self, request: Request) -> Response:
        id = _id(request) if "id" in request.path_params else None
        horizon = requests.whole(request.query_params, "horizon", 0, 0, self.limits.max_horizon)
        key = request.headers.get("idempotency-key")
        if key is not None and not (0 < len(key) <= requests.MAX_TEXT):
            raise requests.invalid(f"Idempotency-Key has {len(key)} characters; give 1 to {requests.MAX_TEXT}.")
        body = await self._body(request)
        kind = request.headers.get("content-type", "")
        found = requests.observations(body, kind, id, self.limits.max_rows)
        if horizon and len({each.id for each in found}) * horizon > self.limits.max_rows:
            raise RefusedError(
                413, "too_many_steps", f"horizon={horizon} for each series of the request makes more than "
                f"{self.limits.max_rows} steps; ask for fewer, or GET /series/ID/forecast.",
            )  # fmt: skip
        return _json_text(await self._in_turn(partial(self.keeper.learn, found, key, horizon)))

    async def _list(self, request: Request) -> Response:
        query = request.query_params
        sort = query.get("sort", "id")
        if sort not in ("id", "anomaly"):
            raise requests.invalid("sort is neither id nor anomaly.")
        limit = requests.whole(query, "limit", 100, 1, MAX_LISTED)
        is_sparkling = query.get("spark") == "1"
        search = query.get("search", "")[: requests.MAX_TEXT]
        return _json(await asyncio.to_thread(self.keeper.list, sort, limit, search, is_sparkling))

    async def _describe(self, request: Request) -> Response:
        return _json(await asyncio.to_thread(self.keeper.describe, _id(request)))

    async def _register(self, request: Request) -> Response:
        id, body = _id(request), await self._body(request)
        given = requests.parse_json(body) if body.strip() else {}
        title, unit = _text(given, "title"), _text(given, "unit")
        is_new = await self._in_turn(partial(self.keeper.register, id, title, unit))
        return _json(await asyncio.to_thread(self.keeper.describe, id), 201 if is_new else 200)

    async def _forget(self, request: Request) -> Response:
        await self._in_turn(partial(self.keeper.forget, _id(request)))
        return Response(status_code=204)

    async def _answers(self, request: Request) -> Response:
        id, query = _id(request), request.query_params
        limit = requests.whole(query, "limit", 500, 1, MAX_ANSWERS)
        before = requests.whole(query, "before", 1 << 62, 1, 1 << 62)
        self.keeper.describe(id)
        found = await asyncio.to_thread(self.keeper.history.newest, id, limit, before)
        return _json_text(f'{{"id":{dumps(id)},"answers":[{",".join(found)}]}}')

    async def _forecast(self, request: Request) -> Response:
        id, query = _id(request), request.query_params
        horizon = requests.whole(query, "horizon", 1, 1, self.limits.max_horizon)
        levels = requests.probabilities(query, "levels", (0.5, 0.9))
        quantiles = requests.probabilities(query, "quantiles", ())
        return _json(await asyncio.to_thread(self.keeper.forecast, id, horizon, levels, quantiles))

    async def _changes(self, request: Request) -> Response:
        id = _id(request)
        limit = requests.whole(request.query_params, "limit", 100, 1, MAX_LISTED)
        self.keeper.describe(id)
        found = await asyncio.to_thread(self.keeper.history.flagged, id, limit)
        return _json_text(f'{{"id":{dumps(id)},"changes":[{",".join(found)}]}}')

    async def _explain(self, request: Request) -> Response:
        return _json(await asyncio.to_thread(self.keeper.explain, _id(request)))

    async def _follow(self, request: Request) -> Response:
        query = request.query_params
        ids = requests.ids(query, "series")
        last = request.headers.get("last-event-id")
        after = query if last is None else {"after": last}
        place = requests.whole(after, "after", -1, 0, 1 << 62)
        self.events.check_room()
        if request.method == "HEAD":
            return Response(media_type="text/event-stream")
        text = self.events.follow(ids, None if place < 0 else place)
        return StreamingResponse(text, media_type="text/event-stream", headers={"x-accel-buffering": "no"})

    async def _log_in(self, request: Request) -> Response:
        given = requests.parse_json(await self._body(request))
        token = _text(given, "token", requests.MAX_TEXT * 5)
        if not self.access.is_token(token or ""):
            raise RefusedError(401, "no_token", "this is not the token of the service.")
        response = Response(status_code=204)
        is_secure = request.headers.get("x-forwarded-proto", request.url.scheme) == "https"
        response.set_cookie(
            COOKIE, self.access.session, SESSION_SECONDS, httponly=True, samesite="strict", secure=is_secure
        )
        return response

    async def _log_out(self, request: Request) -> Response:
        response = Response(status_code=204)
        response.delete_cookie(COOKIE, httponly=True, samesite="strict")
        return response

    async def _health(self, request: Request) -> Response:
        return _json({"status": "alive"})

    async def _readiness(self, request: Request) -> Response:
        is_ready = self.keeper.is_ready
        return _json({"status": "ready" if is_ready else "a write has failed"}, 200 if is_ready else 503)

    async def _metrics(self, request: Request) -> Response:
        text = await asyncio.to_thread(metrics, self.keeper, self.events, dict(self.guard.answered))
        return Response(text, media_type=METRICS_TYPE)

    async def _openapi(self, request: Request) -> Response:
        return _json(describe(self.limits))

    async def _docs(self, request: Request) -> Response:
        return Response(readable(self.limits), media_type="text/html; charset=utf-8")

    async def _page(self, name: str, request: Request) -> Response:
        content, kind = asset(name)
        return Response(content, media_type=kind, headers={"cache-control": "no-cache"})


def _by_path(table: list[tuple[str, str, Handler]]) -> list[Route]:
    """Return a route for each path, which passes a request on by its method."""
    paths: dict[str, dict[str, Handler]] = {}
    for path, method, handler in table:
        paths.setdefault(path, {})[method] = handler

    def route(path: str, handlers: Mapping[str, Handler]) -> Route:
        async def answer(request: Request) -> Response:
            return await handlers["GET" if request.method == "HEAD" else request.method](request)

        return Route(path, answer, methods=list(handlers))

    return [route(path, handlers) for path, handlers in paths.items()]


def _id(request: Request) -> str:
    return requests.check_id(request.path_params["id"])


def _text(given: Any, name: str, at_most: int = requests.MAX_TEXT) -> str | None:
    """Return a field that is text, or None."""
    if not isinstance(given, dict):
        raise requests.invalid('the body is no object; send one such as {"title": "Outdoor temperature"}.')
    value = given.get(name)
    if value is not None and not (isinstance(value, str) and len(value) <= at_most and value.isprintable()):
        raise requests.invalid(f"{name} must be text of at most {at_most} characters that can be printed.")
    return value


def _json(value: Any, status: int = 200) -> Response:
    return _json_text(dumps(value), status)


def _json_text(text: str, status: int = 200) -> Response:
    return Response(text, status, media_type="application/json")


async def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, RefusedError)
    return refusal(error)


async def _http_error(request: Request, error: Exception) -> Response:
    """Answer a path or a method that there is not."""
    assert isinstance(error, HTTPException)
    what = {404: ("not_found", "there is nothing here; /docs lists what can be asked."),
            405: ("wrong_method", "this method is not for this path; /docs lists what can be asked.")}  # fmt: skip
    code, message = what.get(error.status_code, ("refused", error.detail))
    response = refusal(RefusedError(error.status_code, code, message))
    response.headers.update(error.headers or {})
    return response


async def _not_writable(request: Request, error: Exception) -> Response:
    LOG.error("%s", error)
    return refusal(RefusedError(503, "not_ready", "the service cannot learn now; its log says why.", retry_after=10))


async def _library_error(request: Request, error: Exception) -> Response:
    return refusal(RefusedError(422, "invalid", str(error)))


async def _gone(request: Request, error: Exception) -> Response:
    """Answer nobody: the client has left before its body was whole."""
    return refusal(RefusedError(400, "incomplete", "the body has ended too early."))


async def _unexpected(request: Request, error: Exception) -> Response:
    LOG.error("an error of adabypass itself", exc_info=error)
    return refusal(RefusedError(500, "internal", "an error of adabypass itself; its log says more."))
