"""Upgrade the run.json of earlier versions to the current format.

Format 1 is any folder without a format number; format 3 is format 2 with a checksum of run.json in it. A change of
run.json adds a step here, so that no other module deals with earlier formats.
"""

from __future__ import annotations

from typing import Any

from segarena.options import modernize_options

RUN_FORMAT = 3
"""The format that this version writes."""

SEALED_FORMATS = (3,)
"""Formats whose run.json holds its own checksum."""

_RENAMED_DATASETS = {"Chosen": "DatasetSubset"}
"""Current class names by earlier ones. A dataset given as an object is recorded by its class name."""


def upgrade_configuration(plain: dict[str, Any]) -> dict[str, Any]:
    """Return the content of a run.json of any format in the current format.

    Missing fields and wrong types are left for the validation that follows.

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
    current = _upgrade_format_1(plain) if found < 2 else plain
    dataset = current.get("dataset")
    if isinstance(dataset, dict):
        name = dataset.get("name")
        if isinstance(name, str) and name in _RENAMED_DATASETS:
            return {**current, "dataset": {**dataset, "name": _RENAMED_DATASETS[name]}}
    return current


def _upgrade_format_1(plain: dict[str, Any]) -> dict[str, Any]:
    new: dict[str, Any] = {**modernize_options(plain), "format": RUN_FORMAT}
    users = new.get("users")
    if isinstance(users, list):
        new["users"] = [_with_record_name(user) for user in users]
    metrics = new.get("metrics")
    if isinstance(metrics, list):
        new["metrics"] = [_with_options(metric) for metric in metrics]
    rules = new.get("benchmark")
    if isinstance(rules, dict):
        # "" meant no adapter.
        new["benchmark"] = {**rules, "adapter": rules.get("adapter") or None}
    return new


def _with_record_name(user: Any) -> Any:
    """Return a user with its name in the records: the plug-in's own if no other was written."""
    return {"written": user.get("name"), **user} if isinstance(user, dict) else user


def _with_options(metric: Any) -> Any:
    """Return a metric as an object; it was only a name when metrics had no options."""
    return {"name": metric} if isinstance(metric, str) else metric
