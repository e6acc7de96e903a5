"""Times of the tables and of the site's clock, seconds since 1970, as moments with a time zone."""

from __future__ import annotations

import datetime


def utc_datetime(seconds: float) -> datetime.datetime:
    """Return the moment, in UTC."""
    return datetime.datetime.fromtimestamp(seconds, datetime.UTC)
