"""Write the table of what was tested of each product into README.md and docs/live.md, from servers/tested.py.

.venv/bin/python docs/make_products.py
"""

from __future__ import annotations

import re
from pathlib import Path

from ldapdiag.servers.tested import HEADINGS, rows

HOUSE = Path(__file__).parent.parent
PAGES = (HOUSE / "README.md", HOUSE / "docs" / "live.md")
TABLE = re.compile(r"(?<=<!-- products: made by docs/make_products.py -->\n).*?(?=<!-- end of products -->)", re.DOTALL)


def fresh(page: str) -> str:
    """Return the text of a page with the table as the products have it now."""
    lines = (("product", *HEADINGS), ("---",) * 4, *rows())
    return TABLE.sub(lambda _: "".join(f"| {' | '.join(line)} |\n" for line in lines), page)


if __name__ == "__main__":
    for one in PAGES:
        one.write_text(fresh(one.read_text()))
