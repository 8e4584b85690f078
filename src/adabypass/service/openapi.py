"""The description of the service: for programs (OpenAPI 3.1), and as a page for people."""

from html import escape
from importlib.metadata import version
from typing import Any

from adabypass.service.limits import Limits
from adabypass.service.requests import JSON, MAX_ID, MAX_TEXT, NDJSON

Object = dict[str, Any]

ERROR: Object = {
    "type": "object", "required": ["error", "message"],
    "properties": {
        "error": {"type": "string", "description": "A word for programs."},
        "message": {"type": "string", "description": "What came, what was expected, and what to do."},
    },
}  # fmt: skip
NUMBER_OR_NULL: Object = {"type": ["number", "null"]}
ID: Object = {"type": "string", "minLength": 1, "maxLength": MAX_ID, "description": "Id of a series."}
TIME: Object = {
    "type": ["string", "number"],
    "description": "ISO 8601, or a number; all of one kind. Later in each observation of a series than in the one "
    "before; what is not later was learned before, so that a retry is harmless. Without it: the time of arrival.",
}
OBSERVATION: Object = {
    "type": "object", "required": ["y"], "additionalProperties": False,
    "properties": {"id": ID, "time": TIME,
                   "y": {**NUMBER_OR_NULL, "description": "The value; null if it is missing."}},
}  # fmt: skip
ANSWER: Object = {
    "type": "object", "required": ["id", "time", "y"],
    "properties": {
        "status": {"enum": ["learned", "repeated", "late"]},
        "number": {"type": "integer", "description": "Number of its row in the stream, from 1."},
        "id": ID, "time": TIME, "at": {**NUMBER_OR_NULL, "description": "The time as seconds since 1970, or as it is."},
        "y": NUMBER_OR_NULL,
        "mean": {**NUMBER_OR_NULL, "description": "Forecast that was made before y; null while too little is known."},
        "sd": NUMBER_OR_NULL, "lower_90": NUMBER_OR_NULL, "upper_90": NUMBER_OR_NULL,
        "quantile_25": NUMBER_OR_NULL, "quantile_50": NUMBER_OR_NULL, "quantile_75": NUMBER_OR_NULL,
        "log_score": NUMBER_OR_NULL,
        "surprise": {**NUMBER_OR_NULL, "description": "How surprising y was, as a standard normal deviate."},
        "anomaly": {"type": ["boolean", "null"]},
        "change": {"type": ["string", "null"], "description": "level, noise or slope, where the regime has changed."},
    },
}  # fmt: skip
SERIES: Object = {
    "type": "object", "required": ["id", "unusual"],
    "properties": {
        "id": ID, "title": {"type": ["string", "null"]}, "unit": {"type": ["string", "null"]},
        "unusual": {"type": "number", "description": "Root mean square of the newest surprises: 1 is usual."},
        "changed": {"type": ["string", "null"]}, "rows_since_change": {"type": ["integer", "null"]},
        "last": {"anyOf": [ANSWER, {"type": "null"}]},
    },
}  # fmt: skip
COUNT: Object = {"type": "integer", "minimum": 0}
HEALTH: Object = {"type": "object", "properties": {"status": {"type": "string"}}}


def _list_of(item: Object) -> Object:
    return {"type": "array", "items": item}


def _query(name: str, schema: Object, description: str) -> Object:
    return {"name": name, "in": "query", "schema": schema, "description": description}


def _whole(minimum: int, maximum: int, default: int | None = None) -> Object:
    return {"type": "integer", "minimum": minimum, "maximum": maximum,
            **({} if default is None else {"default": default})}  # fmt: skip


def _object(**properties: Object) -> Object:
    return {"type": "object", "properties": properties}


def _operation(
    summary: str, found: Object | str | None, parameters: tuple[Object, ...] = (), *, status: str = "200",
    body: Object | None = None, refused: str = "422", needs_token: bool = True,
) -> Object:  # fmt: skip
    """Return an operation.

    Parameters
    ----------
    found : schema, media type or None
        What it answers: JSON of a schema, or text of a media type, or nothing.
    refused : str
        Further statuses of refusals, separated by spaces.
    """
    if isinstance(found, str):
        content: Object = {"content": {found: {"schema": {"type": "string"}}}}
    else:
        content = {} if found is None else {"content": {JSON: {"schema": found}}}
    responses: Object = {status: {"description": "Answered.", **content}}
    for code in ["403", "421", "429", *(["401"] if needs_token else []), *refused.split()]:
        responses[code] = {"$ref": "#/components/responses/Refused"}
    described: Object = {"summary": summary, "parameters": list(parameters), "responses": responses}
    if body is not None:
        described["requestBody"] = body
    if not needs_token:
        described["security"] = []
    return described


def _body(schema: Object, *, is_required: bool = True, with_lines: bool = False) -> Object:
    lines = {NDJSON[0]: {"schema": {"type": "string", "description": "An observation on each line."}}}
    return {"required": is_required, "content": {JSON: {"schema": schema}, **(lines if with_lines else {})}}


def describe(limits: Limits) -> Object:
    """Return the description, as OpenAPI has it."""
    steps, body_refused = _whole(1, limits.max_horizon, 1), "400 408 409 413 415 422 503"
    in_path: Object = {"name": "id", "in": "path", "required": True, "schema": ID,
                       "description": "Id of a series, percent-encoded."}  # fmt: skip
    learned = _object(answers=_list_of(ANSWER), learned=COUNT, repeated=COUNT, late=COUNT,
                      forecasts={"type": "object"})  # fmt: skip
    sent = _body({"oneOf": [OBSERVATION, _list_of(OBSERVATION)]}, with_lines=True)
    how = (
        _query("horizon", _whole(0, limits.max_horizon, 0), "Forecast this many next steps as well."),
        {"name": "Idempotency-Key", "in": "header", "description": "A request that comes again is not learned twice.",
         "schema": {"type": "string", "minLength": 1, "maxLength": MAX_TEXT}},
    )  # fmt: skip
    limit = _query("limit", _whole(1, 1_000, 100), "At most this many.")
    percentages = {"type": "string", "description": "Probabilities with commas between them: 0.5,0.9."}
    paths: Object = {
        "/observations": {
            "post": _operation("Forecast observations, then learn them", learned, how, body=sent, refused=body_refused),
        },
        "/series": {
            "get": _operation(
                "List series", _object(n_series=COUNT, n_found=COUNT, series=_list_of(SERIES)),
                (_query("sort", {"enum": ["id", "anomaly"], "default": "id"}, "anomaly: the unusual ones first."),
                 _query("search", {"type": "string"}, "Part of an id or a title."), limit,
                 _query("spark", {"enum": ["0", "1"]}, "1: with the newest values of each.")),
            ),
        },
        "/series/{id}": {
            "parameters": [in_path],
            "get": _operation("Describe a series", SERIES, refused="404 422"),
            "put": _operation(
                "Give a series a title and a unit", SERIES, status="200", refused="400 408 409 413 422",
                body=_body(_object(title={"type": "string", "maxLength": MAX_TEXT},
                                   unit={"type": "string", "maxLength": MAX_TEXT}), is_required=False),
            ),
            "delete": _operation("Forget a series", None, status="204", refused="404 422 503"),
        },
        "/series/{id}/observations": {
            "parameters": [in_path],
            "post": _operation("The same, for one series", learned, how, body=sent, refused=body_refused),
        },
        "/series/{id}/answers": {
            "parameters": [in_path],
            "get": _operation(
                "The newest observations, with the forecasts made before them",
                _object(id=ID, answers=_list_of(ANSWER)),
                (_query("limit", _whole(1, 5_000, 500), "At most this many."),
                 _query("before", _whole(1, 1 << 62), "Only those before this number.")), refused="404 422",
            ),
        },
        "/series/{id}/forecast": {
            "parameters": [in_path],
            "get": _operation(
                "Forecast the next steps: columns by name",
                _object(id=ID, step=_list_of({"type": "integer"}), mean=_list_of(NUMBER_OR_NULL)),
                (_query("horizon", steps, "Steps ahead."), _query("levels", percentages, "Of intervals."),
                 _query("quantiles", percentages, "Besides the median.")), refused="404 422",
            ),
        },
        "/series/{id}/changes": {
            "parameters": [in_path],
            "get": _operation("Anomalies and changes of regime, the newest first",
                              _object(id=ID, changes=_list_of(ANSWER)), (limit,), refused="404 422"),
        },
        "/series/{id}/explain": {
            "parameters": [in_path],
            "get": _operation("Say what was learned: level, slope, season, shares", _object(id=ID),
                              refused="404 409 422"),
        },
        "/events": {
            "get": _operation(
                "Follow answers as they are made, as server-sent events", "text/event-stream",
                (_query("series", {"type": "string"}, "Ids with commas between them, or a JSON array.  [all]"),
                 _query("after", _whole(0, 1 << 62), "Number of the last row that is known; so is Last-Event-ID.")),
            ),
        },
        "/session": {
            "post": _operation("Show the token, and get a cookie for the page", None, status="204", needs_token=False,
                               body=_body(_object(token={"type": "string"})), refused="400 401 408 413 422"),
            "delete": _operation("Give the cookie back", None, status="204", needs_token=False),
        },
        "/healthz": {"get": _operation("Is the process alive?", HEALTH, needs_token=False, refused="")},
        "/readyz": {"get": _operation("Can it learn?", HEALTH, needs_token=False, refused="503")},
        "/metrics": {"get": _operation("Numbers for Prometheus", "text/plain")},
        "/openapi.json": {"get": _operation("This description", {"type": "object"}, needs_token=False)},
    }  # fmt: skip
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "adabypass serve", "version": version("adabypass"),
            "description": "Each observation is answered with the forecast that was made before it, and learned once.",
        },
        "security": [{"token": []}],
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "responses": {"Refused": {"description": "Refused; the body says why.",
                                      "content": {JSON: {"schema": ERROR}}}},
        },
        "paths": paths,
    }  # fmt: skip


def readable(limits: Limits) -> str:
    """Return the description as a page."""
    described = describe(limits)
    parts = [
        _section(path, method, operation, operations.get("parameters", []))
        for path, operations in described["paths"].items()
        for method, operation in operations.items()
        if method != "parameters"
    ]
    return (
        "<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport content='width=device-width'>"
        "<title>adabypass serve</title><link rel=stylesheet href=/page/page.css><main class=docs>"
        f"<h1>adabypass serve</h1><p>{escape(described['info']['description'])} For programs: "
        "<a href=/openapi.json>openapi.json</a>. <a href=/>The live page</a>.</p>"
        '<pre>curl -d \'{"id": "load", "y": 1.5}\' -H \'content-type: application/json\' '
        "http://127.0.0.1:8765/observations</pre>"
        f"{''.join(parts)}</main></html>"
    )


def _section(path: str, method: str, operation: Object, shared: list[Object]) -> str:
    rows = "".join(
        f"<tr><th scope=row>{escape(each['name'])}<td>{escape(each['in'])}<td>{escape(each['description'])}"
        for each in [*shared, *operation["parameters"]]
    )
    table = f"<table>{rows}</table>" if rows else ""
    statuses = ", ".join(operation["responses"])
    return (
        f"<section><h2><code>{method.upper()} {escape(path)}</code></h2><p>{escape(operation['summary'])}.</p>"
        f"{table}<p class=quiet>Statuses: {statuses}</p></section>"
    )
