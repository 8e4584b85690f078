"""`adabypass stream` between topics of Kafka: the numbers of a file, each row answered once, and errors in words."""

import json
import os
import re
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Sequence
from operator import itemgetter
from pathlib import Path

import pytest

from adabypass.cli.stream_run import StreamRunner
from adabypass.errors import BrokerError, StateError, TableError
from adabypass.streaming.intake import Intake
from adabypass.streaming.kafka import Answer, TopicReader, TopicWriter
from adabypass.streaming.kafka.client import KafkaError
from tests.cli.in_process import run, stream
from tests.cli.test_forecasting import COMMAND
from tests.kafka.cluster import Cluster
from tests.kafka.rows import NILE, answers, done, expected, options, refusal, rows, values


def test_answers_equal_those_to_the_same_rows_of_a_file(cluster: Cluster, tmp_path: Path) -> None:
    cluster.write("rows", rows(0, 200))
    assert "a new state" in done(stream(*options(cluster, tmp_path / "s")))
    assert values(cluster) == expected(200)
    cluster.write("rows", rows(200, 300))
    assert "resumed after 200 rows" in done(stream(*options(cluster, tmp_path / "s")))
    assert values(cluster) == expected(300)


def test_an_answer_has_the_id_of_its_series_as_key_and_all_of_a_series_are_in_one_partition(
    cluster: Cluster, tmp_path: Path
) -> None:
    cluster.write("rows", rows(0, 60))
    done(stream(*options(cluster, tmp_path / "s")))
    found = answers(cluster)
    assert {message.key() for message in found.values()} == {b"a", b"b", b"3"}
    places = {(message.key(), message.partition()) for message in found.values()}
    assert len(places) == 3
    assert found[2, 7].headers() == [("adabypass-row", b"adabypass-rows-answers/rows/2/7")]


def test_without_a_sink_answers_are_printed_and_without_a_state_all_rows_are_read(cluster: Cluster) -> None:
    cluster.write("one", [(0, json.dumps({"y": y})) for y in NILE[:50]])
    printed = stream("--source", cluster.url("one"), "--stop-at-end")
    done(printed)
    given = "".join(json.dumps({"y": y}) + "\n" for y in NILE[:50])
    assert printed.out == stream(given=given).out


def test_answers_in_a_file_go_on_where_they_were(cluster: Cluster, tmp_path: Path) -> None:
    chosen = ["--source", cluster.url("one"), "--state", tmp_path / "s", "--out", tmp_path / "a.jsonl", "--stop-at-end"]
    for start in (0, 30):
        cluster.write("one", [(0, json.dumps({"y": y})) for y in NILE[start : start + 30]])
        done(stream(*chosen))
    given = "".join(json.dumps({"y": y}) + "\n" for y in NILE[:60])
    assert (tmp_path / "a.jsonl").read_text() == stream(given=given).out


def test_a_lost_state_is_learned_again_and_nothing_is_answered_again(cluster: Cluster, tmp_path: Path) -> None:
    cluster.write("rows", rows(0, 150))
    done(stream(*options(cluster, tmp_path / "s")))
    cluster.write("rows", rows(150, 210))
    said = done(stream(*options(cluster, tmp_path / "new")))
    assert "has answers to rows that" in said
    assert values(cluster) == expected(210)


def test_an_older_copy_of_the_state_goes_on_without_repeating_an_answer(cluster: Cluster, tmp_path: Path) -> None:
    cluster.write("rows", rows(0, 90))
    done(stream(*options(cluster, tmp_path / "s")))
    shutil.copytree(tmp_path / "s", tmp_path / "copy")
    cluster.write("rows", rows(90, 180))
    done(stream(*options(cluster, tmp_path / "s")))
    cluster.write("rows", rows(180, 240))
    done(stream(*options(cluster, tmp_path / "copy")))
    assert values(cluster) == expected(240)


def test_rows_before_the_offsets_of_the_group_are_learned_and_not_answered(cluster: Cluster, tmp_path: Path) -> None:
    cluster.write("rows", rows(0, 90))
    for partition, offset in ((0, 10), (1, 30)):
        cluster.commit("adabypass-rows-answers", "rows", partition, offset)
    done(stream(*options(cluster, tmp_path / "s")))
    assert cluster.committed("adabypass-rows-answers", "rows") == {0: 30, 1: 30, 2: 30}
    whole = expected(90)
    assert values(cluster) == {
        place: answer for place, answer in whole.items() if place[1] >= {0: 10, 1: 30, 2: 0}[place[0]]
    }


def test_groups_answer_the_same_rows_to_one_topic_without_disturbing_each_other(
    cluster: Cluster, tmp_path: Path
) -> None:
    cluster.write("rows", rows(0, 60))
    for group in ("one", "two"):
        done(stream(*options(cluster, tmp_path / group, "--group", group)))
    assert len(cluster.read("answers")) == 120


def test_each_process_may_have_its_partitions(cluster: Cluster, tmp_path: Path) -> None:
    cluster.write("rows", rows(0, 90))
    done(stream(*options(cluster, tmp_path / "a", "--partitions", "0-1")))
    assert {place[0] for place in answers(cluster)} == {0, 1}
    done(stream(*options(cluster, tmp_path / "b", "--partitions", "2")))
    assert values(cluster) == expected(90)


BAD = {
    "no JSON": (b"y=1", "is not JSON"),
    "nothing": (None, "is not JSON"),
    "no UTF-8": (b"\xff\xfe", "is not UTF-8"),
    "an array": (b"[1, 2]", "is not a JSON object"),
    "no target": (b'{"k": "a", "t": 999, "x": 1}', 'no column "y"'),
    "no number": (b'{"k": "a", "t": 999, "y": "high"}', 'column "y"'),
    "no id": (b'{"k": "", "t": 999, "y": 1}', 'column "k"'),
    "a late row": (b'{"k": "a", "t": 0, "y": 1}', 'column "t"'),
}


@pytest.mark.parametrize("what", BAD)
def test_a_bad_message_is_named_and_left_out_on_request(what: str, cluster: Cluster, tmp_path: Path) -> None:
    value, message = BAD[what]
    cluster.write("rows", [*rows(0, 60), (0, value), *rows(60, 90)])
    chosen = options(cluster, tmp_path / "s", "--time", "t")
    for _ in range(2):  # the state is as it was before the message, and a second start finds it again
        said = refusal(stream(*chosen), TableError)
        assert f"{cluster.url('rows')}, partition 0, offset 20" in said
        assert message in said
    assert len(answers(cluster)) >= 20
    said = done(stream(*chosen, "--on-bad-row", "skip"))
    assert said.count("skipped: kafka://") == 1
    assert ("came late, and were left out: 1." if what == "a late row" else "and were skipped: 1.") in said
    whole = expected(90, "--time", "t")
    shifted = {(p, offset + (p == 0 and offset >= 20)): answer for (p, offset), answer in whole.items()}
    assert values(cluster) == shifted


def test_a_field_that_is_absent_may_count_as_missing(cluster: Cluster, tmp_path: Path) -> None:
    cluster.write("one", [(0, b'{"y": 1.0}'), (0, b'{"x": 2.0}'), (0, b'{"y": null}')])
    printed = stream("--source", cluster.url("one"), "--on-bad-row", "missing", "--stop-at-end")
    done(printed)
    assert [json.loads(line)["y"] for line in printed.out.splitlines()] == [1.0, None, None]


def test_a_state_belongs_to_its_topic_group_and_partitions(cluster: Cluster, tmp_path: Path) -> None:
    cluster.write("rows", rows(0, 30))
    done(stream(*options(cluster, tmp_path / "s")))
    for more, message in (
        (["--group", "other"], "group 'other'"), (["--partitions", "0"], "partitions [0]"),
    ):  # fmt: skip
        assert message in refusal(stream(*options(cluster, tmp_path / "s", *more)), StateError)
    refused = stream("--source", cluster.url("one"), "--id", "k", "--state", tmp_path / "s")
    assert "topic 'one'" in refusal(refused, StateError)
    refused = stream("--id", "k", "--state", tmp_path / "s", given="k,y\na,1\n")
    assert "no topic" in refusal(refused, StateError)


def test_a_topic_that_was_made_anew_is_refused(cluster: Cluster, tmp_path: Path) -> None:
    cluster.write("rows", rows(0, 30))
    done(stream(*options(cluster, tmp_path / "s")))
    with Cluster(rows=3, answers=2) as other:
        refused = stream(*options(other, tmp_path / "s"))
        assert "but was read up to 10 before" in refusal(refused, BrokerError)


def test_messages_that_were_deleted_unread_are_reported(
    cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The mock brokers delete nothing; so the reader is told that they have."""
    cluster.write("rows", rows(0, 30))
    done(stream(*options(cluster, tmp_path / "s")))
    cluster.write("rows", rows(30, 90))
    monkeypatch.setattr(TopicReader, "_bounds", lambda self, partition: (15, 30))
    said = refusal(stream(*options(cluster, tmp_path / "s")), BrokerError)
    assert "messages 10 to 14 of partition 0 were deleted unread" in said
    said = done(stream(*options(cluster, tmp_path / "s", "--on-bad-row", "skip")))
    assert said.count("were deleted unread; going on without them") == 3
    assert sorted(answers(cluster)) == [(p, i) for p in range(3) for i in (*range(10), *range(15, 30))]


def test_a_transaction_that_is_aborted_or_delayed_is_tried_again(cluster: Cluster, tmp_path: Path) -> None:
    cluster.write("rows", rows(0, 30))
    cluster.fail("EndTxn", KafkaError.COORDINATOR_LOAD_IN_PROGRESS, KafkaError.COORDINATOR_NOT_AVAILABLE)
    done(stream(*options(cluster, tmp_path / "s")))
    # One series, so one partition of answers: the mock cluster shows what an aborted transaction wrote to others.
    cluster.write("rows", [row for row in rows(30, 90) if row[0] == 0])
    cluster.fail("Produce", KafkaError.TOPIC_AUTHORIZATION_FAILED)
    assert "a transaction was aborted" in done(stream(*options(cluster, tmp_path / "s")))
    assert values(cluster) == {place: line for place, line in expected(90).items() if place[0] == 0 or place[1] < 10}


def test_a_process_whose_group_was_taken_over_stops_and_the_next_start_answers(
    cluster: Cluster, tmp_path: Path
) -> None:
    cluster.write("rows", rows(0, 30))
    cluster.fail("Produce", KafkaError.INVALID_PRODUCER_EPOCH)
    said = refusal(stream(*options(cluster, tmp_path / "s")), BrokerError)
    assert "another process answers as group adabypass-rows-answers" in said
    # The first transaction answers what the first fetches have brought: one partition, or more.
    assert re.search("[123]0 of them since the last checkpoint", done(stream(*options(cluster, tmp_path / "s"))))
    assert values(cluster) == expected(30)


def test_a_broker_that_is_away_for_a_while_is_waited_for(
    cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster.write("rows", rows(0, 300))
    downtime = threading.Timer(1.5, cluster.restart)
    transact, n_begun = TopicWriter._transact, 0

    def stop_at_the_third(writer: TopicWriter, answered: Sequence[Answer]) -> None:
        nonlocal n_begun
        n_begun += 1
        if n_begun == 3:
            cluster.stop()
            downtime.start()
        transact(writer, answered)

    monkeypatch.setattr(TopicWriter, "_transact", stop_at_the_third)
    done(stream(*options(cluster, tmp_path / "s")))
    downtime.join()
    assert values(cluster) == expected(300)


def test_a_broker_that_stays_away_ends_the_stream_and_the_next_start_answers(
    cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster.write("rows", rows(0, 90))
    transact, n_unanswered = TopicWriter._transact, 0

    with monkeypatch.context() as patched:

        def stop_first(writer: TopicWriter, answered: Sequence[Answer]) -> None:
            nonlocal n_unanswered
            n_unanswered = len(answered)
            cluster.stop()
            patched.setattr("adabypass.streaming.kafka.writer.PATIENCE", 1.0)
            patched.setattr("adabypass.streaming.kafka.writer.START_SECONDS", 0.5)
            transact(writer, answered)

        patched.setattr(TopicWriter, "_transact", stop_first)
        said = refusal(stream(*options(cluster, tmp_path / "s")), BrokerError)
    assert "what was learned is kept, and its answers are written at the next start" in said
    cluster.restart()
    assert 0 < n_unanswered <= 40
    assert f"{n_unanswered} of them since the last checkpoint" in done(stream(*options(cluster, tmp_path / "s")))
    assert values(cluster) == expected(90)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 0), (signal.SIGINT, 130)])
def test_a_signal_ends_the_stream_with_all_rows_answered(
    number: signal.Signals, code: int, cluster: Cluster, tmp_path: Path
) -> None:
    cluster.write("rows", rows(0, 90))
    chosen = [each for each in options(cluster, tmp_path / "s") if each != "--stop-at-end"]
    child = subprocess.Popen([*COMMAND, "stream", *chosen], stderr=subprocess.PIPE, text=True)
    until = time.monotonic() + 120  # a busy machine starts a process in half a minute
    while len(cluster.read("answers")) < 90 and time.monotonic() < until:
        time.sleep(0.1)
    os.kill(child.pid, number)
    said = child.communicate(timeout=120)[1]
    assert child.returncode == code, said
    assert values(cluster) == expected(90)
    assert json.loads(run("inspect", tmp_path / "s", "--json").out)["n_since_checkpoint"] == 0


def test_inspect_shows_where_reading_goes_on(cluster: Cluster, tmp_path: Path) -> None:
    cluster.write("rows", rows(0, 31))
    done(stream(*options(cluster, tmp_path / "s")))
    shown = run("inspect", tmp_path / "s").out
    assert "11 of partition 0, 10 of partition 1, 10 of partition 2" in shown
    assert "adabypass-rows-answers" in shown
    assert "last row" not in shown


def late_rows(start: int, stop: int) -> list[tuple[int, str]]:
    """Return rows of two series, many of which come a few steps too late."""
    order = sorted(range(90), key=lambda i: i + (i * 7) % 5)[start:stop]
    return [(i % 2, json.dumps({"k": "ab"[i % 2], "t": i, "y": NILE[i]})) for i in order]


@pytest.mark.parametrize("cut", [1, 13, 44, 90])
def test_messages_that_were_held_back_at_a_kill_are_learned_in_their_order(
    cut: int, cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen = options(cluster, tmp_path / "s", "--time", "t", "--reorder-window", "5")
    cluster.write("rows", late_rows(0, cut))
    with monkeypatch.context() as killed:
        killed.setattr(Intake, "release_all", lambda intake: None)
        killed.setattr(StreamRunner, "_finish", lambda runner: 0)
        done(stream(*chosen))
    held = 90 - len(cluster.read("answers"))
    assert held > 0
    cluster.write("rows", late_rows(cut, 90))
    said = done(stream(*chosen))
    assert "late" not in said
    found = [json.loads(message.value()) for message in cluster.read("answers")]
    given = "k,t,y\n" + "".join(f"{'ab'[i % 2]},{i},{NILE[i]}\n" for i in range(90))
    whole = [json.loads(line) for line in stream("--id", "k", "--time", "t", given=given).out.splitlines()]
    key = itemgetter("k", "t")
    assert sorted(found, key=key) == sorted(({**each, "t": int(each["t"])} for each in whole), key=key)


def test_all_targets_of_a_message_are_answered_in_one_transaction(
    cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("adabypass.streaming.kafka.writer.MAX_ANSWERS", 7)
    sizes, transact = [], TopicWriter._transact

    def counted(writer: TopicWriter, every: Sequence[Answer]) -> None:
        sizes.append(len(every))
        transact(writer, every)

    monkeypatch.setattr(TopicWriter, "_transact", counted)
    values = [(i % 3, json.dumps({"a": {"k": i % 3}, "m": {"x": NILE[i], "y": -NILE[i]}})) for i in range(60)]
    cluster.write("rows", values)
    chosen = ["--source", cluster.url("rows"), "--sink", cluster.url("answers"), "--state", tmp_path / "s"]
    done(stream(*chosen, "--id", "a.k", "--target", "m.x,m.y", "--stop-at-end", "--kafka-config", cluster.settings))
    assert set(sizes) <= {2, 4, 6, 8}
    found = cluster.read("answers")
    assert len(found) == sum(sizes) == 120
    assert {message.key() for message in found} == {f'[{k}, "m.{name}"]'.encode() for k in range(3) for name in "xy"}
    assert set(json.loads(found[0].value())) >= {"a.k", "target", "y", "mean"}


def test_rows_without_a_flag_are_learned_and_counted_and_not_answered(cluster: Cluster, tmp_path: Path) -> None:
    cluster.write("rows", [(0, json.dumps({"k": "a", "y": 500.0 if i == 80 else NILE[i]})) for i in range(90)])
    chosen = options(cluster, tmp_path / "s", "--only", "anomaly", "--lags", "1")
    done(stream(*chosen))
    found = [json.loads(message.value()) for message in cluster.read("answers")]
    assert 500.0 in [each["y"] for each in found]
    assert len(found) < 10
    assert all(each["anomaly"] for each in found)
    assert cluster.committed("adabypass-rows-answers", "rows")[0] == 90
    assert "resumed after 90 rows" in done(stream(*chosen))
    assert len(cluster.read("answers")) == len(found)


def test_messages_that_cannot_be_read_go_to_a_topic_of_their_own(cluster: Cluster, tmp_path: Path) -> None:
    cluster.write("rows", [*rows(0, 30), (1, b"y=1"), *rows(30, 60)])
    chosen = options(cluster, tmp_path / "s", "--on-bad-row", "skip", "--bad-rows", cluster.url("one"))
    done(stream(*chosen))
    (letter,) = [json.loads(message.value()) for message in cluster.read("one")]
    assert (letter["partition"], letter["offset"], letter["record"]) == (1, 10, "y=1")
    assert "is not JSON" in letter["error"]
    done(stream(*chosen))
    assert len(cluster.read("one")) == 1
