"""`adabypass stream` between topics of Kafka: options, addresses and settings that are refused, in words."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from adabypass.errors import BrokerError, ParameterError
from adabypass.streaming.kafka import TopicWriter
from tests.cli.in_process import stream
from tests.kafka.cluster import Cluster
from tests.kafka.rows import done, options, refusal

REFUSED: dict[str, tuple[Callable[[Cluster], list[str]], str]] = {
    "several partitions of one series": (lambda c: ["--source", c.url("rows")], "3 partitions"),
    "a sink without a state": (
        lambda c: ["--source", c.url("rows"), "--sink", c.url("answers"), "--id", "k"], "needs --state",
    ),
    "a sink without a source": (lambda c: ["--sink", c.url("answers")], "needs --source"),
    "partitions without a source": (lambda c: ["--partitions", "1"], "needs --source"),
    "a sink and a file": (lambda c: [*options(c, "s"), "--out", "a.csv"], "leave out --out"),
    "partitions that are none": (lambda c: [*options(c, "s"), "--partitions", "1-"], "0,1 or 0-3"),
    "the source as sink": (
        lambda c: ["--source", c.url("rows"), "--sink", c.url("rows"), "--id", "k", "--state", "s"], "a row again",
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", REFUSED)
def test_options_that_do_not_go_together_are_refused(
    what: str, cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    arguments, message = REFUSED[what]
    refused = stream(*arguments(cluster))
    assert refused.code == 2
    assert message in refused.err
    assert not (tmp_path / "s").exists()


def test_a_topic_that_is_not_there_is_named(cluster: Cluster, tmp_path: Path) -> None:
    said = refusal(stream("--source", cluster.url("nowhere"), "--id", "k"), BrokerError)
    assert "nowhere: there is no such topic" in said
    chosen = ["--source", cluster.url("rows"), "--sink", cluster.url("nowhere"), "--id", "k", "--state", tmp_path / "s"]
    assert "nowhere: there is no such topic" in refusal(stream(*chosen), BrokerError)


def test_a_broker_that_does_not_answer_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("adabypass.streaming.kafka.client.START_SECONDS", 1.0)
    said = refusal(stream("--source", "kafka://127.0.0.1:9/rows", "--id", "k"), BrokerError)
    assert "kafka://127.0.0.1:9/rows: no broker answered within 1 seconds" in said
    assert "Connection refused" in said or "failed" in said


@pytest.mark.parametrize("address", ["rows", "kafka:///rows", "kafka://host", "kafka://host/a b", "http://host/rows"])
def test_an_address_that_is_none_is_refused(address: str) -> None:
    assert "is not the address of a topic" in refusal(stream("--source", address), ParameterError)


def test_answers_behind_an_open_transaction_of_another_producer_are_not_guessed_at(
    cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The mock brokers show messages of open transactions; so the writer is told that there is more to come."""
    cluster.write("answers", [(0, b"of someone else")])
    monkeypatch.setattr("adabypass.streaming.kafka.writer.PATIENCE", 0.5)
    monkeypatch.setattr(TopicWriter, "_newest_ends", lambda self: {0: 5, 1: 0})
    said = refusal(stream(*options(cluster, tmp_path / "s")), BrokerError)
    assert "answers: partition 0 cannot be read up to its end" in said


def test_partitions_and_groups_are_checked(cluster: Cluster, tmp_path: Path) -> None:
    refused = stream(*options(cluster, tmp_path / "s", "--partitions", "1,7"))
    assert "has the partitions 0 to 2, but [1, 7]" in refusal(refused, ParameterError)
    refused = stream(*options(cluster, tmp_path / "s", "--group", "a/b"))
    assert "no name of a group" in refusal(refused, ParameterError)


def test_a_file_of_settings_is_read_and_checked(cluster: Cluster, tmp_path: Path) -> None:
    cluster.write("one", [(0, b'{"y": 1.0}')])
    file = tmp_path / "client.properties"
    chosen = ["--source", cluster.url("one"), "--stop-at-end", "--kafka-config", file]
    file.write_text("# of the client\n\nclient.id = test\n")
    done(stream(*chosen))
    for text, message in {
        "client.id": "line 1 is not a setting",
        "a=1\nisolation.level=read_uncommitted": "line 2 sets isolation.level",
        "no.such.thing=1": 'No such configuration property: "no.such.thing"',
    }.items():
        file.write_text(text)
        assert message in refusal(stream(*chosen), ParameterError)


def test_without_confluent_kafka_the_error_names_the_extra() -> None:
    program = (
        "import sys; sys.modules['confluent_kafka'] = None; sys.argv = ['adabypass', 'stream', '--source', "
        "'kafka://h/t']\nfrom adabypass.cli import main\nmain()"
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert ended.returncode == 2
    assert "pip install 'adabypass[kafka]'" in ended.stderr
    assert "Traceback" not in ended.stderr
