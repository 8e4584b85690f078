"""Alarms of changes and anomalies: how many are false, and how soon changes are found, beside River's detectors."""
