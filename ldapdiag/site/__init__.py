"""What a site has decided, read from ldapdiag.toml: targets by name, thresholds, disabled checks, accepted findings."""
