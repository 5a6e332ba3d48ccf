"""Text from logs and tables made harmless for a terminal. All text that a client can influence is hostile."""

from __future__ import annotations

import unicodedata

DANGEROUS = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
"""Unicode categories of characters that move the cursor, change direction, hide text, or start a line."""

LONGEST = 400


def neutral(text: str, *, lines: bool = False, longest: int = LONGEST) -> str:
    r"""Return the text with every control, format or unassigned character written as \\x.. or \\u....

    With `lines`, line feeds stay (for our own texts of several lines). Longer text is cut and ends with `…`. Neutral
    text is returned unchanged.
    """
    shown = "".join(_shown(character, lines=lines) for character in text[: longest + 1])
    return shown if len(shown) <= longest else f"{shown[: longest - 1]}…"


def _shown(character: str, *, lines: bool) -> str:
    if " " <= character <= "~" or (lines and character == "\n"):
        return character
    if unicodedata.category(character) in DANGEROUS:
        code = ord(character)
        return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
    return character
