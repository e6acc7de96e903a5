"""What reports call runs, segmenters and datasets: as short as tells them apart."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cache
from pathlib import PurePath
from typing import Any

from segarena.options import options_of
from segarena.records.configuration import DatasetRecord, PluginRecord
from segarena.registry import known, names, todays_name
from segarena.specs import PluginSpec

SEES_TRUTH = " (SEES THE TRUTH)"
"""What every table and figure says of a control that is given the targets."""


def run_labels(segmenters: Sequence[str], data: Sequence[str]) -> list[str]:
    """Return one name per run: the segmenter, the dataset where only that differs, a number where nothing does."""
    pairs = list(zip(segmenters, data, strict=True))
    on_several = Counter(name for name, _ in set(pairs))
    return _numbered([f"{name} on {of}" if on_several[name] > 1 else name for name, of in pairs])


def dataset_names(plugins: Sequence[DatasetRecord]) -> list[str]:
    """Return what each run's dataset is called; equal data have equal names, other data other ones.

    A folder, read by a plug-in with an option `name`, is called as that says, or as the last part of its path; so are
    several folders read by one plug-in without.
    """
    names: list[str] = []
    for plugin, told in zip(plugins, distinct_names(plugins), strict=True):
        is_folder = "name" in plugin.options and told == short_name(plugin.name)
        names.append(
            (_folder_name(plugin) if is_folder or _has_other_path(plugin, plugins) else "") or told
        )
    prints = [(name, plugin.fingerprint) for name, plugin in zip(names, plugins, strict=True)]
    numbers = dict(
        zip(
            dict.fromkeys(prints),
            _numbered([name for name, _ in dict.fromkeys(prints)]),
            strict=True,
        )
    )
    return [numbers[one] for one in prints]


def _has_other_path(plugin: PluginRecord, plugins: Sequence[PluginRecord]) -> bool:
    paths = {str(other.options.get("path")) for other in plugins if other.name == plugin.name}
    return len(paths) > 1 and "path" in plugin.options


def _folder_name(plugin: PluginRecord) -> str:
    options = plugin.options
    return str(options.get("name") or PurePath(str(options.get("path", ""))).name)


def distinct_names(plugins: Sequence[PluginRecord]) -> list[str]:
    """Return the name of each plug-in with the options in which it differs from its namesakes.

    Where these are several, those that are as the signature has them are left out. A segmenter that stands for others
    has an option `name`, and is called as that says.
    """
    names = [
        _own_name(plugin) or short_name(todays_name(plugin.kind, plugin.name)) for plugin in plugins
    ]
    labels: list[str] = []
    for name, plugin in zip(names, plugins, strict=True):
        same = [other.options for other, its in zip(plugins, names, strict=True) if its == name]
        differ = [
            key
            for key, value in plugin.options.items()
            if any(its.get(key) != value for its in same)
        ]
        own = {key: plugin.options[key] for key in differ}
        if len(differ) > 1:
            own = {key: value for key, value in non_default_options(plugin).items() if key in own}
        labels.append(f"{PluginSpec(name, own)}{SEES_TRUTH if plugin.sees_truth else ''}")
    return labels


def non_default_options(used: PluginRecord) -> dict[str, Any]:
    """Return the options that are not as the signature has them, where the name of the plug-in is a known one."""
    factory = known(used.kind, used.name) if used.kind else None
    declared = options_of(factory) if factory else ()
    # run.json knows no tuples
    defaults = {
        one.name: [*one.default] if isinstance(one.default, tuple) else one.default
        for one in declared
    }
    return {
        name: value
        for name, value in used.options.items()
        if name not in defaults or defaults[name] != value
    }


def _own_name(plugin: PluginRecord) -> str:
    return str(plugin.options.get("name") or "") if plugin.kind == "segmenter" else ""


def _numbered(names: Sequence[str]) -> list[str]:
    return [
        f"{x} #{names[: i + 1].count(x)}" if names.count(x) > 1 else x for i, x in enumerate(names)
    ]


def short_name(name: str) -> str:
    """Return the class of a plug-in `path/file.py:Name`; other names as they are."""
    return name.rpartition(":")[2] if ".py:" in name else name


def metric_name(column: str) -> str:
    """Return a metric column as printed."""
    return _titles().get(column, column.replace("_", " "))


@cache
def _titles() -> dict[str, str]:
    """Return the titles that metrics give their columns."""
    found: dict[str, str] = {}
    for metric in names("metric").values():
        found |= getattr(metric, "titles", {})
    return found
