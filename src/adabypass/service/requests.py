"""What a request says, checked: observations, ids, and parameters of a query."""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from math import isfinite
from typing import Any, NamedTuple, NoReturn

from adabypass.data.times import parse_time
from adabypass.errors import AdabypassError
from adabypass.service.errors import RefusedError
from adabypass.validation import shown

MAX_ID = 200
"""Characters of the id of a series."""
MAX_TEXT = 200
"""Characters of a title, a unit, an idempotency key, or a time."""
FIELDS = ("id", "time", "y")
JSON, NDJSON = "application/json", ("application/x-ndjson", "application/jsonl", "application/x-jsonlines")


class Observation(NamedTuple):
    """One observation as it was sent."""

    id: str
    time: str | int | float | None
    """None if none was given: then it is the time at which it came."""
    y: float | None
    """None if it is missing."""


def invalid(message: str) -> RefusedError:
    """Return the refusal of a request that cannot be understood."""
    return RefusedError(422, "invalid", message)


def parse_json(text: bytes | str) -> Any:
    """Return what JSON says; NaN and Infinity, which JSON does not have, are refused."""
    try:
        return json.loads(text, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise RefusedError(400, "not_json", f"the body is not JSON: {_reason(error)}.") from None


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number of JSON; a missing value is null")


def _reason(error: BaseException) -> str:
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    if isinstance(error, UnicodeDecodeError):
        return "it is not UTF-8"
    return str(error).split(";", maxsplit=1)[0][:MAX_TEXT].rstrip(".")


def observations(body: bytes, content_type: str, id: str | None, max_rows: int) -> list[Observation]:
    """Return the observations of a body.

    Parameters
    ----------
    body : bytes
        JSON, one object or a list of them, or a JSON object on each line.
    content_type : str
    id : str, optional
        The series, if the path names it.
    max_rows : int
    """
    kind = content_type.partition(";")[0].strip().lower()
    if kind == JSON:
        found = parse_json(body)
        records = found if isinstance(found, list) else [found]
    elif kind in NDJSON:
        records = [parse_json(line) for line in body.splitlines() if line.strip()]
    else:
        raise RefusedError(
            415, "wrong_content_type",
            f"the content type is {shown(kind)}; send {JSON}, or {NDJSON[0]} with an object on each line.",
        )  # fmt: skip
    if len(records) > max_rows:
        raise RefusedError(
            413, "too_many_rows", f"there are {len(records)} observations in the request; send at most {max_rows}."
        )
    return [_observation(record, at, id) for at, record in enumerate(records)]


def _observation(record: Any, at: int, id: str | None) -> Observation:
    if not isinstance(record, Mapping):
        raise invalid(f'observation {at} is {shown(record)}; send an object such as {{"id": "a", "y": 1.5}}.')
    unknown = next((name for name in record if name not in FIELDS), None)
    if unknown is not None:
        raise invalid(f"observation {at} has a field {shown(unknown)}; its fields are {', '.join(FIELDS)}.")
    if "y" not in record:
        raise invalid(f"observation {at} has no y; send null if the value is missing.")
    own = record.get("id", id)
    if own is None:
        raise invalid(f"observation {at} has no id; say to which series it belongs.")
    if id is not None and own != id:
        raise invalid(f"observation {at} has the id {shown(own)}, but was sent to the series {shown(id)}.")
    return Observation(check_id(own), _time(record.get("time"), at), _value(record["y"], at))


def check_id(id: Any) -> str:
    """Return the id of a series, which is text; a whole number is taken as text."""
    text = str(id) if type(id) is int and abs(id) < 1 << 63 else id
    if not isinstance(text, str) or not text.strip() or len(text) > MAX_ID or not text.isprintable():
        raise invalid(f"the id is {shown(id)}; ids are text of 1 to {MAX_ID} characters that can be printed.")
    return text


def _value(y: Any, at: int) -> float | None:
    if y is None:
        return None
    try:
        value = float(y) if type(y) in (int, float) else None
    except OverflowError:
        value = None
    if value is None or not isfinite(value):
        raise invalid(f"observation {at} has the y {shown(y)}; send a finite number, or null if it is missing.")
    return value


def _time(time: Any, at: int) -> str | int | float | None:
    if time is None:
        return None
    try:
        if (isinstance(time, str) and len(time) <= MAX_TEXT) or (type(time) in (int, float) and isfinite(time)):
            parsed = parse_time(time)
            return time if isinstance(parsed, datetime) else parsed
    except (AdabypassError, ValueError, OverflowError):
        pass
    raise invalid(
        f"observation {at} has the time {shown(time)}; write 2026-02-01T13:30:00Z (ISO 8601), or a plain number."
    )


def seconds(time: Any) -> float | None:
    """Return a time as a number to draw it at: seconds since 1970, or the number that it is; None without one."""
    if time is None:
        return None
    parsed = parse_time(time)
    if isinstance(parsed, datetime):
        return (parsed - datetime(1970, 1, 1)).total_seconds()  # in UTC
    return float(parsed)


def whole(query: Mapping[str, str], name: str, default: int, minimum: int, maximum: int) -> int:
    """Return a whole number of a query."""
    text = query.get(name)
    if text is None:
        return default
    if not (text.isascii() and text.isdigit() and len(text) < 20 and minimum <= int(text) <= maximum):
        raise invalid(f"{name} is {shown(text)}; pass a whole number from {minimum} to {maximum}.")
    return int(text)


def probabilities(query: Mapping[str, str], name: str, default: Sequence[float], at_most: int = 20) -> list[float]:
    """Return probabilities of a query, which are separated by commas."""
    text = query.get(name)
    if text is None:
        return list(default)
    try:
        found = sorted({float(part) for part in text.split(",")})
    except ValueError:
        found = []
    if not found or len(found) > at_most or not all(1e-6 <= each <= 1.0 - 1e-6 for each in found):
        raise invalid(f"{name} is {shown(text)}; pass up to {at_most} probabilities between 0 and 1, such as 0.5,0.9.")
    return found


def ids(query: Mapping[str, str], name: str, at_most: int = 100) -> list[str] | None:
    """Return the ids of a query, which are separated by commas (one with a comma is written as JSON); None for all."""
    text = query.get(name)
    if not text:
        return None
    found = parse_json(text) if text.startswith("[") else text.split(",")
    if not isinstance(found, list) or len(found) > at_most:
        raise invalid(f"{name} is {shown(text)}; name at most {at_most} series, with commas between them.")
    return [check_id(each) for each in found]
