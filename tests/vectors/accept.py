"""Write the answer of the Python reference to a vector, which a person checks before it is committed (README.md).

PYTHONPATH=tests .venv/bin/python tests/vectors/accept.py [389-text/quotes]...
"""

from __future__ import annotations

import sys

from ldapdiag.evidence.log.dialects import scan_stream
from log.vectors import HINTS, LOGS, answer, dialect_of, label

for path in LOGS:
    if not sys.argv[1:] or label(path) in sys.argv[1:]:
        dialect = dialect_of(path)
        found = answer(scan_stream(dialect, path.read_bytes(), HINTS), dialect) + "\n"
        expected = path.with_suffix(".json")
        if not expected.exists() or expected.read_text(encoding="ascii") != found:
            expected.write_text(found, encoding="ascii")
            sys.stdout.write(f"to be checked line by line: {expected}\n")
