"""Streams of many series: rows as they arrive, each forecast before its value is used and learned exactly once."""
