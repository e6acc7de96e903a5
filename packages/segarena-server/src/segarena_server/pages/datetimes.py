"""Moments as pages show them: in UTC, by a small script in the visitor's own zone; and how long it is until then."""

from __future__ import annotations

import datetime

from markupsafe import Markup

_UNITS = (("day", 86400), ("hour", 3600), ("minute", 60), ("second", 1))


def time_tag(moment: float | datetime.datetime | None) -> Markup:
    """Return a moment (seconds since 1970, or with its zone) as a page has it; nothing for None."""
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
    """Return so many seconds as people say it: "5 days", "20 hours", "1 minute"."""
    seconds = abs(seconds)
    unit, size = next((pair for pair in _UNITS if seconds >= 2 * pair[1]), _UNITS[-1])
    count = int(seconds // size)
    return f"{count} {unit}{'' if count == 1 else 's'}"
