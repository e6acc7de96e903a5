"""Upgrade of run.json files that earlier versions wrote to the current format.

Format 1 is any folder without a format number; format 3 is format 2 with a checksum in run.json.
Every change of run.json needs a step here, so that no other module handles earlier formats.
"""

from __future__ import annotations

from typing import Any

from segarena.options import modernize_options

RUN_FORMAT = 3
"""The format that this version writes."""

SEALED_FORMATS = (3,)
"""Formats whose run.json contains its own checksum."""

_RENAMED_DATASETS = {"Chosen": "DatasetSubset"}
"""Current class names by former ones. A dataset passed as an object is recorded by its class name."""


def upgrade_configuration(plain: dict[str, Any]) -> dict[str, Any]:
    """Convert the content of a run.json of any format to the current format.

    The validation that follows reports missing fields and wrong types.

    Raises:
        ValueError: a later version wrote the file.
    """
    found = plain.get("format", 1)
    if not isinstance(found, int):
        return plain
    if found > RUN_FORMAT:
        raise ValueError(
            f"it has format {found}, but this version reads formats up to {RUN_FORMAT}; update segarena"
        )
    current = _with_far_corrections(_upgrade_format_1(plain) if found < 2 else plain)
    dataset = current.get("dataset")
    if isinstance(dataset, dict):
        name = dataset.get("name")
        if isinstance(name, str) and name in _RENAMED_DATASETS:
            return {**current, "dataset": {**dataset, "name": _RENAMED_DATASETS[name]}}
    return current


def _with_far_corrections(plain: dict[str, Any]) -> dict[str, Any]:
    """Add `local=False`, the former behaviour, to the segmenter `graph` of a run from before that option existed."""
    segmenter = plain.get("segmenter")
    if not isinstance(segmenter, dict) or segmenter.get("name") != "graph":
        return plain
    options = segmenter.get("options")
    if not isinstance(options, dict):
        return plain
    return {**plain, "segmenter": {**segmenter, "options": {"local": False, **options}}}


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
        # "" stood for no adapter.
        new["benchmark"] = {**rules, "adapter": rules.get("adapter") or None}
    return new


def _with_record_name(user: Any) -> Any:
    """Return a user with its name in the records: the plug-in's own name unless another was written."""
    if not isinstance(user, dict):
        return user
    return {"written": user.get("name"), **user}


def _with_options(metric: Any) -> Any:
    """Return a metric as an object; before metrics had options, it was only a name."""
    if isinstance(metric, str):
        return {"name": metric}
    return metric
