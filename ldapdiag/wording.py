"""Numbers, nouns and verbs in sentences for people: 1,234,567; 1 host is, 2 hosts are."""

from __future__ import annotations


def number(value: float) -> str:
    """Return a number with a comma after every three digits: 1,234,567."""
    return f"{value:,}"


def counted(count: int, noun: str, plural: str | None = None) -> str:
    """Return a count with its noun, in the singular or plural: `1 host`, `1,234 hosts`, `2 searches`."""
    end = "es" if noun.endswith("ch") else "s"
    return f"{number(count)} {noun if count == 1 else plural or noun + end}"


def are(count: int) -> str:
    """Return the verb of a count: `is` for one, else `are`."""
    return "is" if count == 1 else "are"


def seconds(value: float) -> str:
    """Return a number of seconds with three digits, or all before the decimal point: `0.25 s`, `12,000 s`."""
    if 0 < value < 0.001:
        return duration(value)
    return f"{value:,.0f} s" if value >= 999.5 else f"{value:.3g} s"


def between(lower: float | None, upper: float | None) -> str:
    """Return a number of seconds between two bounds: `30 s`, `300 to 350 s`, `at most 350 s`, `more than 300 s`."""
    if lower is None:
        return "an unknown time" if upper is None else f"at most {bound(upper)}"
    if upper is None:
        return f"more than {bound(lower)}"
    return bound(upper) if lower == upper else f"{bound(lower).removesuffix(' s')} to {bound(upper)}"


def bound(value: float) -> str:
    """Return a limit or a setting in seconds, never with an exponent: `0.096 s`, `31.25 s`, `1,000,000 s`."""
    digits = f"{value:,.0f}" if value >= 1000 else f"{value:.6f}".rstrip("0").rstrip(".")
    return f"{digits} s"


def percent(share: float) -> str:
    """Return a share in percent; a small one is <1 %, not 0 %."""
    if share > 0 and round(share * 100) == 0:
        return "<1 %"
    return f"{min(round(share * 100), 99 if share < 1 else 100)} %"


def duration(value: float) -> str:
    """Return seconds in the unit that suits them, never with an exponent: `under 0.1 ms`, `140 ms`, `3.99 s`."""
    if 0 < value < 0.0001:
        return "under 0.1 ms"
    return f"{1000 * value:.3g} ms" if 0 < value < 0.9995 else seconds(value)


def rounded(value: float) -> str:
    """Return a number with two digits, or all before the decimal point: `0.45`, `3.1`, `12,345`."""
    if 0 < abs(value) < 0.0001:
        return f"{value:.12f}".rstrip("0").rstrip(".") if abs(value) >= 5e-13 else "0"
    return f"{value:,.0f}" if abs(value) >= 9.95 else f"{value:.2g}"
