"""Access logs as bytes: finding, ordering, splitting into whole records, parallel scanning, following."""
