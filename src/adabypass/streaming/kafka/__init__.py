"""Topics of Kafka: rows read from their partitions, answers written in transactions, each exactly once.

A `TopicReader` reads from offsets that its user keeps: it never asks Kafka where it was. A `TopicWriter` writes answers
in transactions; every answer names the row that it belongs to in a header, so that the topic itself tells which rows
are answered. How a stream uses the two, so that a crash neither loses nor repeats anything, is decision 0013.
"""

from adabypass.streaming.kafka.reader import Message, TopicReader
from adabypass.streaming.kafka.topic import Topic
from adabypass.streaming.kafka.writer import Answer, TopicWriter

__all__ = ["Answer", "Message", "Topic", "TopicReader", "TopicWriter"]
