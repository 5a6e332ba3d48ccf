"""When a report has colours: as the operator says, else on a terminal, and as NO_COLOR and FORCE_COLOR ask."""

from __future__ import annotations

import os
from enum import StrEnum
from typing import Any


class Color(StrEnum):
    """Values of --color."""

    AUTO = "auto"
    ALWAYS = "always"
    NEVER = "never"


def may_color(color: Color) -> bool:
    """Return whether what no terminal shows may have colours: rich decides what the values of these variables mean."""
    return color is Color.ALWAYS or (
        color is Color.AUTO and not {"FORCE_COLOR", "TTY_COMPATIBLE"}.isdisjoint(os.environ)
    )


def console_settings(color: Color) -> dict[str, Any]:
    """Return the arguments of a rich console; without any, rich looks at the terminal, NO_COLOR and FORCE_COLOR.

    https://no-color.org and https://force-color.org: an option of the command line comes before the environment.
    """
    match color:
        case Color.AUTO:
            return {}
        case Color.ALWAYS:
            return {"force_terminal": True, "color_system": "standard", "no_color": False}
        case Color.NEVER:
            return {"color_system": None}
