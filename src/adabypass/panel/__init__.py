"""Many series at once: out of tables, and their forecasts as a table."""
