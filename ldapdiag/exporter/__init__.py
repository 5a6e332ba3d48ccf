"""The exporter for Prometheus: collects by a timer, and answers a scrape with the last diagnosis."""
