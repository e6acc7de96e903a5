"""Dates and durations on pages: in UTC, or converted to the visitor's time zone by a script."""

from __future__ import annotations

import datetime

from markupsafe import Markup

_UNITS = (("day", 86400), ("hour", 3600), ("minute", 60), ("second", 1))


def time_tag(moment: float | datetime.datetime | None) -> Markup:
    """Return the HTML of a time (seconds since 1970, or a datetime with its zone); "" for None."""
    if moment is None:
        return Markup()
    if isinstance(moment, float | int):
        at = datetime.datetime.fromtimestamp(moment, datetime.UTC)
    else:
        at = moment
    at = at.astimezone(datetime.UTC)
    written = at.strftime("%Y-%m-%d %H:%M UTC")
    return Markup('<time datetime="{}">{}</time>').format(
        at.strftime("%Y-%m-%dT%H:%M:%SZ"), written
    )


def span_text(seconds: float) -> str:
    """Return a duration in seconds in words: "5 days", "20 hours", "1 minute"."""
    seconds = abs(seconds)
    unit, size = next((pair for pair in _UNITS if seconds >= 2 * pair[1]), _UNITS[-1])
    count = int(seconds // size)
    return f"{count} {unit}{'' if count == 1 else 's'}"
