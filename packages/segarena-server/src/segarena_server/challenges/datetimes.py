"""Moments as people write them: a date, a time, in a time zone or with an offset from UTC."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

from segarena.errors import InvalidInput

_YEARS = range(1970, 3000)


def parse_datetime(text: str, zone: str = "UTC") -> datetime:
    """Return the moment that a text says, with its offset from UTC.

    Args:
        text: ISO 8601: 2026-06-01, 2026-06-01T12:00, 2026-06-01T12:00+02:00; a date alone is its first moment.
        zone: in which it is, where it names no offset: UTC, Europe/Berlin.

    Raises:
        InvalidInput: it is no time or no zone; or the time is not there or comes twice in that zone, as in the night in
            which clocks are changed.
    """
    try:
        read = datetime.fromisoformat(text.strip())
    except ValueError as error:
        raise InvalidInput(
            f"expected a date like 2026-06-01 or 2026-06-01T12:00+02:00, got {text.strip()[:40]!r}"
        ) from error
    if read.year not in _YEARS:
        raise InvalidInput(f"expected a year from {_YEARS[0]} to {_YEARS[-1]}, got {read.year}")
    if read.utcoffset() is not None:
        return read
    place = parse_time_zone(zone)
    offsets = {read.replace(tzinfo=place, fold=fold).utcoffset() or timedelta() for fold in (0, 1)}
    if len(offsets) > 1:
        raise InvalidInput(
            f"clocks are changed in {zone} then: {text.strip()[:40]} is there twice or not at all; say it in UTC"
        )
    return read.replace(tzinfo=timezone(offsets.pop()))


def parse_time_zone(name: str) -> ZoneInfo:
    """Return a time zone.

    Raises:
        InvalidInput: there is none of this name.
    """
    try:
        return ZoneInfo(name)
    except (
        OSError,
        ValueError,
        KeyError,
    ) as error:  # a name that is a folder, leads out, or is not known
        raise InvalidInput(
            f"expected a time zone like UTC or Europe/Berlin, got {name[:40]!r}"
        ) from error


def utc_text(moment: datetime | None) -> str:
    """Return a moment as fields for times have it, to the second and in UTC; "" for none."""
    if moment is None:
        return ""
    return moment.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="seconds")
