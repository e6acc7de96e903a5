"""Run folders of earlier versions, in the terms of today.

Format 1 is any folder without a format number; format 3 is format 2 with a checksum of run.json in it. Whoever changes
what run.json says adds a step here, so that no other module knows that it was ever different.
"""

from __future__ import annotations

from typing import Any

from segarena.options import in_todays_words

RUN_FORMAT = 3
"""What this version writes."""

SEALED_FORMATS = (3,)
"""Those whose run.json holds its own checksum."""


def upgrade_configuration(plain: dict[str, Any]) -> dict[str, Any]:
    """Return the content of a run.json of any format as this version would have written it.

    What is missing or of another type than ever written is left to the check that follows.

    Raises:
        ValueError: a later version wrote it.
    """
    found = plain.get("format", 1)
    if not isinstance(found, int):
        return plain
    if found > RUN_FORMAT:
        raise ValueError(
            f"it is of format {found}, and this version reads up to {RUN_FORMAT}; update segarena"
        )
    return _from_first(plain) if found < 2 else plain


def _from_first(plain: dict[str, Any]) -> dict[str, Any]:
    new: dict[str, Any] = {**in_todays_words(plain), "format": RUN_FORMAT}
    if isinstance(new.get("users"), list):
        new["users"] = [_named(user) for user in new["users"]]
    if isinstance(new.get("metrics"), list):
        new["metrics"] = [
            {"name": metric} if isinstance(metric, str) else metric for metric in new["metrics"]
        ]
    if isinstance(rules := new.get("benchmark"), dict):
        new["benchmark"] = {**rules, "adapter": rules.get("adapter") or None}
    return new


def _named(user: Any) -> Any:
    """Return a user with a name in the records: the plug-in's own where no other was written."""
    return {"written": user.get("name"), **user} if isinstance(user, dict) else user
