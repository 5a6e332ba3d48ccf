"""Charts: pure numbers from the JSON report (`axis`, `chart`, one module per picture), then marks for each medium."""
