"""Write the screens of tests/report/screens anew; read the difference before it is committed."""

from __future__ import annotations

from pathlib import Path

from report.screens import SITUATIONS, SIZES, lines_of, situation

if __name__ == "__main__":
    for name in SITUATIONS:
        for size in SIZES:
            text = "\n".join(lines_of(situation(name), size)) + "\n"
            (Path(__file__).parent / "screens" / f"{name}-{size}.txt").write_text(text)
