"""Parsing dates and times as people write them, in a time zone or with an offset from UTC."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

from segarena.errors import InvalidInput

_YEARS = range(1970, 3000)
_MAX_QUOTED = 40
"""Maximum length of the part of an invalid text that an error message quotes."""


def parse_datetime(text: str, zone: str = "UTC") -> datetime:
    """Parse a date and time; the result has an offset from UTC.

    Args:
        text: ISO 8601: 2026-06-01, 2026-06-01T12:00, 2026-06-01T12:00+02:00. A date alone means midnight.
        zone: time zone of texts without an offset: UTC, Europe/Berlin.

    Raises:
        InvalidInput: the text is not a time, its year is out of range, the zone does not exist, or the local time
            does not exist or occurs twice, as when clocks change.
    """
    quoted = text.strip()[:_MAX_QUOTED]
    try:
        parsed = datetime.fromisoformat(text.strip())
    except ValueError as error:
        raise InvalidInput(
            f"expected a date like 2026-06-01 or 2026-06-01T12:00+02:00, got {quoted!r}"
        ) from error
    if parsed.year not in _YEARS:
        raise InvalidInput(f"expected a year from {_YEARS[0]} to {_YEARS[-1]}, got {parsed.year}")
    if parsed.utcoffset() is not None:
        return parsed
    time_zone = parse_time_zone(zone)
    # `fold` selects one of two equal local times; for a local time that is skipped, the two offsets
    # differ as well.
    earlier = parsed.replace(tzinfo=time_zone, fold=0).utcoffset() or timedelta()
    later = parsed.replace(tzinfo=time_zone, fold=1).utcoffset() or timedelta()
    if earlier != later:
        raise InvalidInput(
            f"{quoted} occurs twice or not at all, because clocks change in {zone}; give the time in UTC"
        )
    return parsed.replace(tzinfo=timezone(earlier))


def parse_time_zone(name: str) -> ZoneInfo:
    """Return a time zone by name.

    Raises:
        InvalidInput: no time zone has this name.
    """
    try:
        return ZoneInfo(name)
    # The name may be a folder, or a path that leads out of the time zone database.
    except (OSError, ValueError, KeyError) as error:
        raise InvalidInput(
            f"expected a time zone like UTC or Europe/Berlin, got {name[:_MAX_QUOTED]!r}"
        ) from error


def utc_text(moment: datetime | None) -> str:
    """Format a time in UTC, to the second, as form fields of type datetime-local expect it; "" for None."""
    if moment is None:
        return ""
    return moment.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="seconds")
