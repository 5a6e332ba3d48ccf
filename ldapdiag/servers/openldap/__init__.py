"""OpenLDAP's slapd."""
