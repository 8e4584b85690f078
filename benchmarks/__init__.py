"""Measurements, against peers, each one command."""
