"""The formats of facts about hosts and middleboxes: kernel settings, counters, limits, configured timeouts."""
