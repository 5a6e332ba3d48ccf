"""The summary of a diagnosis for a history, and a history on screen and as JSON."""
