"""Quantities in words, for every sentence and table: numbers with nouns and verbs, durations, bytes, shares, times."""

from __future__ import annotations

from datetime import datetime


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


AS_MINUTES, AS_HOURS, AS_DAYS = 600, 7200, 172_800
"""Seconds from which a duration is in minutes, hours and days."""


def duration(value: float) -> str:
    """Return seconds in the unit that suits them: `83 µs`, `140 ms`, `3.99 s`, `16.3 min`, `4.2 h`, `3.1 d`."""
    if 0 < value < 0.0001:
        return f"{1e6 * value:.3g} µs" if value >= 1e-6 else "0 s"
    if 0 < value < 0.9995:
        return f"{1000 * value:.3g} ms"
    if value < AS_MINUTES:
        return seconds(value)
    unit, name = (60, "min") if value < AS_HOURS else (3600, "h") if value < AS_DAYS else (86_400, "d")
    return f"{value / unit:,.3g} {name}" if value / unit < 999.5 else f"{value / unit:,.0f} {name}"


def durations(least: float, most: float) -> str:
    """Return two times in seconds: `0.3 to 16 ms`, `12 ms to 1.3 s`, `0 to 4 s`; one if both are printed alike."""
    low, high = duration(least), duration(most)
    if low == high:
        return high
    value, _, unit = low.rpartition(" ")
    if least < LEAST:
        return f"0 to {high}"
    return f"{value} to {high}" if high.endswith(f" {unit}") else f"{low} to {high}"


LEAST = 0.0001
"""Seconds; a lower bound below is 0."""

UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB", "PiB")


def size(value: float) -> str:
    """Return a number of bytes in a suitable unit, with three digits: 512 bytes, 1.46 MiB, 290 GiB."""
    place = 0
    while value >= 999.5 and place < len(UNITS) - 1:
        value, place = value / 1024, place + 1
    return f"{value:.0f} {UNITS[place]}" if place == 0 or value >= 99.95 else f"{value:.3g} {UNITS[place]}"


def shown_time(text: str | None) -> str:
    """Return a time of a report (ISO 8601, UTC) to the second; a text that is none unchanged, for None nothing."""
    try:
        return datetime.fromisoformat(text).strftime("%Y-%m-%d %H:%M:%S UTC") if text else ""
    except ValueError:
        return text or ""


def rounded(value: float) -> str:
    """Return a number with two digits, or all before the decimal point: `0.45`, `3.1`, `12,345`."""
    if 0 < abs(value) < 0.0001:
        return f"{value:.12f}".rstrip("0").rstrip(".") if abs(value) >= 5e-13 else "0"
    return f"{value:,.0f}" if abs(value) >= 9.95 else f"{value:.2g}"
