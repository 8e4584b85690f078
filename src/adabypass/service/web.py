"""Starlette and uvicorn: what the service needs of them is imported here alone."""

from adabypass.errors import MissingExtraError

try:
    import uvicorn
    from h11 import LocalProtocolError
    from starlette.applications import Starlette
    from starlette.convertors import Convertor, register_url_convertor
    from starlette.exceptions import HTTPException
    from starlette.requests import ClientDisconnect, Request
    from starlette.responses import Response, StreamingResponse
    from starlette.routing import Route
    from starlette.types import ASGIApp, Message, Receive, Scope, Send
except ImportError as missing:
    raise MissingExtraError(
        "adabypass.service needs starlette and uvicorn; install them with: pip install 'adabypass[serve]'"
    ) from missing

__all__ = [
    "ASGIApp",
    "ClientDisconnect",
    "Convertor",
    "HTTPException",
    "LocalProtocolError",
    "Message",
    "Receive",
    "Request",
    "Response",
    "Route",
    "Scope",
    "Send",
    "Starlette",
    "StreamingResponse",
    "register_url_convertor",
    "uvicorn",
]
