"""Forecasts: distributions of the next observation, or of many."""
