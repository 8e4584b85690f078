"""A bare Starlette application that parses JSON and sends it back: what HTTP costs without a model."""

import sys

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route


async def echo(request: Request) -> Response:
    """Send the body back."""
    return JSONResponse(await request.json())


if __name__ == "__main__":
    app = Starlette(routes=[Route("/observations", echo, methods=["POST"])])
    print("http://127.0.0.1:" + sys.argv[1], file=sys.stderr, flush=True)
    uvicorn.run(app, port=int(sys.argv[1]), log_level="error", access_log=False, http="h11", ws="none")
