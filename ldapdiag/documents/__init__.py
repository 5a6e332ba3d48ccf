"""The documents that commands write as JSON, as types: read by mypy and docs/make_schemas.py, never at run time."""
