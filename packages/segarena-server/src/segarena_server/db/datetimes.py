"""Conversion of the tables' timestamps, in seconds since 1970, to datetimes with a time zone."""

from __future__ import annotations

import datetime


def utc_datetime(seconds: float) -> datetime.datetime:
    """Convert seconds since 1970 to a datetime in UTC."""
    return datetime.datetime.fromtimestamp(seconds, datetime.UTC)
