"""Metrics: what `foyer.measures` counts, handed to the Prometheus client at a scrape (spec 04, Metrics)."""
