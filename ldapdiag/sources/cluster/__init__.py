"""Clusters: the logs of many servers are cut into tasks, which processes on other machines run."""
