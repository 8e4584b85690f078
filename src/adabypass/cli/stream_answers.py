"""What the answers of `adabypass stream` hold, how they are written, and which of them."""

from collections.abc import Sequence
from typing import Any

from adabypass.cli.options import ParamType
from adabypass.streaming.answers import (
    FIELDS,
    AnswerFormat,
    Column,
    Encode,
    csv_line,
    encode_csv,
    encode_json,
    encode_values,
)
from adabypass.streaming.intake import Counts
from adabypass.streaming.rows import Row

FLAGS = ("anomaly", "change")


class ChosenNames(ParamType):
    """Names with commas between them, each among those that there are, in their order."""

    def __init__(self, name: str, known: tuple[str, ...]) -> None:
        self.name, self._known = name, known

    def convert(self, value: Any, param: Any, ctx: Any) -> tuple[str, ...]:
        names = value if isinstance(value, tuple) else tuple(each.strip() for each in value.split(",") if each.strip())
        unknown = [name for name in names if name not in self._known]
        if unknown or not names:
            self.fail(f"{', '.join(unknown) or repr(value)} is not among {', '.join(self._known)}.", param, ctx)
        return tuple(name for name in self._known if name in names)


FIELD_NAMES, FLAG_NAMES = ChosenNames("fields", FIELDS), ChosenNames("flags", FLAGS)


def encoding(kind: str, wanted: AnswerFormat, *, is_shown: bool = False) -> tuple[Encode, str]:
    """Return how answers are encoded, and what comes before them; `is_shown`: on a terminal."""
    if kind == "csv":
        return encode_csv(wanted, is_shown=is_shown), csv_line(wanted.header(is_flat=True), is_shown=is_shown)
    if kind == "parquet":
        return encode_values(wanted), ""
    return encode_json(wanted), ""


def only_wanted(wanted: AnswerFormat, encode: Encode, only: tuple[str, ...], counts: Counts) -> Encode:
    """Return an encoder that counts flags, and makes "" of the answers that nobody is to get.

    These are the steps of gaps, for which there is no record, and rows without any of the flags `only`.
    """
    names = wanted.columns()
    at = {name: names.index(name) for name in FLAGS if name in wanted.fields}

    def encode_some(rows: Sequence[Row], is_known: Sequence[bool], columns: Sequence[Column]) -> list[Any]:
        answers = encode(rows, is_known, columns)
        counts.anomalies += sum(map(bool, columns[at["anomaly"]])) if "anomaly" in at else 0
        counts.changes += sum(map(bool, columns[at["change"]])) if "change" in at else 0
        if wanted.time is not None:
            answers = [answer if row[2] else "" for answer, row in zip(answers, rows, strict=True)]
        if only:
            flags = iter([any(each) for each in zip(*(columns[at[name]] for name in only), strict=True)])
            answers = [answer if known and next(flags) else "" for answer, known in zip(answers, is_known, strict=True)]
        return answers

    return encode_some
