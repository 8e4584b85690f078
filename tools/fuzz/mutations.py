"""Mutations of snapshots and stores: of their bytes, and of their content with a checksum that fits again."""

import json
import random
import sqlite3
import struct
import zlib
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np

from adabypass.snapshots import container
from adabypass.streaming.store_reader import SavedSeries

SIZES: list[Any] = [0, 1, -1, 2**31, 2**48 - 1, 2**48, 2**63, 2**64, 10**30, 1.5, True, None, "8", []]
NUMBERS = [0.0, -0.0, 1.0, -1.0, 0.5, 20.0, 21.0, 1e9, -1e9, 1e300, -1e300, 5e-324, np.inf, -np.inf, np.nan, 2.0**53]
VALUES: list[Any] = [
    None, True, False, 0, -1, 1, 3, 2**31, 2**64, 10**400, 0.5, -1e308, 1e-320, "", "x", "AutoBypass", "\0", "\ud800",
    "é" * 1000, [], {}, [[]], [1, "a"], {"a": 1}, list(range(1000)), {"kind": "Forecaster"},
]  # fmt: skip


def mutated_bytes(data: bytes, chance: random.Random) -> bytes:
    """Return other bytes: bits flipped, a part cut, doubled, moved or overwritten; never the same bytes."""
    content = bytearray(data)
    for _ in range(chance.choice([1, 1, 1, 2, 8])):
        start = chance.randrange(len(content) + 1)
        stop = min(len(content), start + chance.choice([1, 4, 8, 64, 1000, len(data)]))
        match chance.randrange(7):
            case 0 | 1 | 2:
                for _ in range(chance.choice([1, 2, 16])):
                    if content:
                        content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
            case 3:
                del content[start:]
            case 4:
                del content[start:stop]
            case 5:
                content[start:start] = content[start:stop] if chance.random() < 0.5 else chance.randbytes(stop - start)
            case 6:
                content[start:stop] = bytes(stop - start)
    return bytes(content) if content != data else bytes(content[:-1])


def mutated_snapshot(data: bytes, chance: random.Random) -> bytes:
    """Return a snapshot with other content and a checksum that fits."""
    snapshot = container.from_bytes(data)
    header, arrays = snapshot.header, {name: array.copy() for name, array in snapshot.arrays.items()}
    n_text = int.from_bytes(data[:8], "little")
    table = json.loads(data[8 : 8 + n_text])
    match chance.randrange(5):
        case 0 | 1:
            _change_numbers(arrays, chance)
        case 2:
            for _ in range(chance.choice([1, 1, 3])):
                _change_value(header, chance)
        case 3:
            return _signed(_absurd(table, chance), data[8 + n_text :])
        case 4:
            text = json.dumps(header)
            deep = "[" * chance.choice([10, 17, 1000, 50_000])
            text = text.replace(chance.choice([" null", " true", " 4", " []"]), deep, 1) if deep else text
            table["__metadata__"]["adabypass"] = text
            return _signed(table, data[8 + n_text :])
    try:
        return b"".join(container.encode(header, arrays))
    except (TypeError, ValueError):  # a value that no file can hold
        return b"".join(container.encode(snapshot.header, arrays))


def mutate_store(place: Path, chance: random.Random) -> None:
    """Change the content of a store, with checksums that fit."""
    connection = sqlite3.connect(place, isolation_level=None)
    try:
        table = chance.choice(["memory", "memory", "series", "inputs", "meta", "schema"])
        if table == "schema":
            _change_schema(connection, chance)
        elif table == "meta":
            _change_meta(connection, chance)
        elif table == "inputs":
            number, data, positions = connection.execute("SELECT number, data, positions FROM inputs").fetchone()
            data = chance.choice([_changed_batch(data, chance), *([positions, None, 5] * (chance.random() < 0.1))])
            positions = chance.choice([positions, "[]", "{", '{"positions": [[[]]]}', b"x", "x" * 10_000])
            checksum = 0 if not isinstance(data, bytes) else _batch_checksum(number, data, positions)
            values = (data, positions, checksum, number)
            connection.execute("UPDATE inputs SET data = ?, positions = ?, checksum = ? WHERE number = ?", values)
        else:
            _change_series(connection, table, chance)
    finally:
        connection.close()


def _change_schema(connection: sqlite3.Connection, chance: random.Random) -> None:
    statements = [
        "CREATE TRIGGER t AFTER INSERT ON inputs BEGIN DELETE FROM series; END", "CREATE VIEW v AS SELECT 1",
        "DROP TABLE inputs", "ALTER TABLE series RENAME TO other", "CREATE INDEX i ON series (time)",
        f"PRAGMA user_version = {chance.choice([0, 1, 2**31 - 1])}", "PRAGMA application_id = 7",
        "DELETE FROM memory", "DELETE FROM series", "DELETE FROM inputs", "DELETE FROM meta",
        "ALTER TABLE memory ADD COLUMN x", "PRAGMA journal_mode = DELETE",
    ]  # fmt: skip
    connection.execute(chance.choice(statements)).fetchall()


def _change_meta(connection: sqlite3.Connection, chance: random.Random) -> None:
    name = chance.choice(["settings", "progress"])
    (text,) = connection.execute("SELECT value FROM meta WHERE name = ?", (name,)).fetchone()
    if chance.random() < 0.1:
        text = text.replace(chance.choice(["null", "1", "0", "["]), "[" * chance.choice([10, 17, 50_000]), 1)
    else:
        value = json.loads(text)
        for _ in range(chance.choice([1, 1, 3])):
            _change_value(value, chance)
        text = json.dumps(value)
    encoded = text.encode("utf-8", "surrogatepass")
    try:
        connection.execute("UPDATE meta SET value = ?, checksum = ? WHERE name = ?", (text, zlib.crc32(encoded), name))
    except UnicodeEncodeError:  # a value that no file can hold
        return


def _change_series(connection: sqlite3.Connection, table: str, chance: random.Random) -> None:
    select = (
        "SELECT series.number, key, time, n_rows, newest, row, monitor FROM series JOIN memory "
        "ON memory.number = series.number ORDER BY random() LIMIT 1"
    )
    saved = SavedSeries(*connection.execute(select).fetchone())
    if table == "memory":
        arrays = {"row": np.frombuffer(saved.row, "<f8").copy()}
        if saved.monitor is not None and chance.random() < 0.3:
            arrays = {"monitor": np.frombuffer(saved.monitor, "<f8").copy()}
        _change_numbers(arrays, chance)
        cut = chance.choice([None, None, None, None, -8, -3, 0, 8])
        changes: Any = {name: array.tobytes()[:cut] for name, array in arrays.items()}
    else:
        column = chance.choice(["key", "time", "n_rows", "newest"])
        texts = ["", "null", '"b"', "[" * 100_000, '"\\ud800"', "1e400", '"2014-01-01"', "NaN", "x" * 100_000]
        wholes = [0, -1, 2**31, 2**62, -(2**62)]
        changes = {column: chance.choice(texts if column in ("key", "time") else wholes)}
    saved = saved._replace(**changes)
    connection.execute("INSERT OR REPLACE INTO series VALUES (?, ?, ?, ?, ?)", saved[:5])
    values = (saved.number, saved.row, saved.monitor, saved.checksum)
    connection.execute("INSERT OR REPLACE INTO memory VALUES (?, ?, ?, ?)", values)


def _changed_batch(data: bytes, chance: random.Random) -> bytes:
    match chance.randrange(4):
        case 0:
            return mutated_bytes(data, chance)
        case 1:
            return data[:-8] + struct.pack("<d", chance.choice(NUMBERS))
        case 2:
            sizes = [chance.choice([0, 1, 5, 2**31, 2**32 - 1]) for _ in range(4)]
            return struct.pack("<IIII", *sizes) + data[16:]
    return data + chance.randbytes(chance.choice([1, 8, 800]))


def _batch_checksum(number: int, data: bytes, positions: Any) -> int:
    text = positions if isinstance(positions, bytes) else (positions or "").encode()
    return zlib.crc32(text, zlib.crc32(data, number))


def _change_numbers(arrays: dict[str, Any], chance: random.Random) -> None:
    """Overwrite numbers of a row: the counts at its beginning more often than others."""
    filled = [array.reshape(-1) for array in arrays.values() if array.size]
    if not filled:
        return
    flat = chance.choice(filled)
    for _ in range(chance.choice([1, 1, 3, 50])):
        at = chance.randrange(min(flat.size, chance.choice([4, 30, flat.size])))
        if flat.dtype == np.uint8:
            flat[at] = chance.randrange(256)
        elif chance.random() < 0.3:
            flat[at] = struct.unpack("<d", chance.randbytes(8))[0]
        else:
            flat[at] = chance.choice(NUMBERS)


def _change_value(value: Any, chance: random.Random) -> None:
    """Replace, remove or add a value, somewhere within a header."""
    while True:
        keys: list[Any] = list(value) if isinstance(value, dict) else list(range(len(value)))
        if not keys:
            return
        key = chance.choice(keys)
        if isinstance(value[key], dict | list) and chance.random() < 0.6:
            value = value[key]
            continue
        match chance.randrange(4):
            case 0:
                del value[key]
            case 1 if isinstance(value, dict):
                value[chance.choice(["kind", "rows", "n_exog", "x"])] = deepcopy(chance.choice(VALUES))
            case _:
                value[key] = deepcopy(chance.choice(VALUES))
        return


def _absurd(table: dict[str, Any], chance: random.Random) -> dict[str, Any]:
    """Change what the container says of its arrays."""
    name = chance.choice([name for name in table if name != "__metadata__"] or ["__metadata__"])
    entry = table[name]
    match chance.randrange(5):
        case 0 if "shape" in entry:
            entry["shape"] = [chance.choice(SIZES) for _ in range(chance.choice([0, 1, 2, 9]))]
        case 1 if "data_offsets" in entry:
            entry["data_offsets"] = [chance.choice(SIZES) for _ in range(2)]
        case 2:
            entry["dtype"] = chance.choice(["F32", "I64", "O", "", None, 8, "U8", "BF16"])
        case 3:
            table[name] = deepcopy(chance.choice(VALUES))
        case _:
            table[chance.choice(["row", "rows", "other", ""])] = {"dtype": "F64", "shape": [0], "data_offsets": [0, 0]}
    return table


def _signed(table: dict[str, Any], data: bytes) -> bytes:
    """Return a file with this table, and a checksum that fits."""
    metadata = table.get("__metadata__")
    header = metadata.get("adabypass", "{}") if isinstance(metadata, dict) else "{}"
    rest = {name: entry for name, entry in table.items() if name != "__metadata__"}
    text = json.dumps({"__metadata__": {"crc32": "", "adabypass": header}, **rest}, separators=(",", ":")).encode()
    text = container.START + container.NO_CHECKSUM + text.removeprefix(container.START)
    length = len(text).to_bytes(8, "little")
    checksum = zlib.crc32(data, zlib.crc32(text, zlib.crc32(length)))
    return length + text.replace(container.NO_CHECKSUM, b"%08x" % checksum, 1) + data
