"""Display names of runs, segmenters and datasets: as short as possible, but distinct."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cache
from pathlib import PurePath
from typing import Any

from segarena.options import options_of
from segarena.plugin_spec import PluginSpec
from segarena.records.configuration import DatasetRecord, PluginRecord
from segarena.registry import current_name, indexed_plugins, lookup

SEES_TRUTH = " (SEES THE TRUTH)"
"""Suffix of a control that has access to the targets, in every table and figure."""


def run_labels(segmenters: Sequence[str], data: Sequence[str]) -> list[str]:
    """Return a distinct label for each run.

    The label is the name of the segmenter. The dataset follows if the segmenter ran on several, and
    a number if two runs have the same segmenter and dataset.
    """
    pairs = list(zip(segmenters, data, strict=True))
    dataset_counts = Counter(segmenter for segmenter, _ in set(pairs))
    labels: list[str] = []
    for segmenter, dataset in pairs:
        if dataset_counts[segmenter] > 1:
            labels.append(f"{segmenter} on {dataset}")
        else:
            labels.append(segmenter)
    return _numbered(labels)


def dataset_names(plugins: Sequence[DatasetRecord]) -> list[str]:
    """Return the display name of each run's dataset; data with different fingerprints have different names.

    If the dataset is a folder, read by a plug-in with an option `name`, its display name is the
    value of that option, or else the last part of its path. The same applies if one plug-in reads
    several folders.
    """
    prints: list[tuple[str, str]] = []
    for plugin, distinct in zip(plugins, distinct_names(plugins), strict=True):
        is_named_folder = "name" in plugin.options and distinct == short_name(plugin.name)
        label = ""
        if is_named_folder or _has_several_paths(plugin, plugins):
            label = _folder_name(plugin)
        prints.append((label or distinct, plugin.fingerprint))
    # Distinguish equal names of different data by a number.
    distinct_prints = list(dict.fromkeys(prints))
    numbered = _numbered([label for label, _ in distinct_prints])
    names_by_print = dict(zip(distinct_prints, numbered, strict=True))
    return [names_by_print[one] for one in prints]


def _has_several_paths(plugin: PluginRecord, plugins: Sequence[PluginRecord]) -> bool:
    if "path" not in plugin.options:
        return False
    namesakes = [other for other in plugins if other.name == plugin.name]
    paths = {str(other.options.get("path")) for other in namesakes}
    return len(paths) > 1


def _folder_name(plugin: PluginRecord) -> str:
    name = plugin.options.get("name")
    if name:
        return str(name)
    return PurePath(str(plugin.options.get("path", ""))).name


def distinct_names(plugins: Sequence[PluginRecord]) -> list[str]:
    """Return the name of each plug-in with the options that distinguish it from plug-ins of the same name.

    If several options differ, those with default values are omitted. A given label, or the option
    `name` of a segmenter that wraps others, replaces the name. `SEES_TRUTH` marks controls that
    have access to the targets.
    """
    base_names = [_base_name(plugin) for plugin in plugins]
    namesakes: dict[str, list[PluginRecord]] = {}
    for plugin, name in zip(plugins, base_names, strict=True):
        namesakes.setdefault(name, []).append(plugin)
    differing_keys = {name: _differing_keys(same) for name, same in namesakes.items()}
    labels: list[str] = []
    for name, plugin in zip(base_names, plugins, strict=True):
        keys = differing_keys[name]
        differing = {key: value for key, value in plugin.options.items() if key in keys}
        if len(differing) > 1:
            set_options = non_default_options(plugin)
            differing = {key: value for key, value in set_options.items() if key in differing}
        suffix = SEES_TRUTH if plugin.sees_truth else ""
        labels.append(f"{PluginSpec(name, differing)}{suffix}")
    return labels


def _differing_keys(plugins: Sequence[PluginRecord]) -> set[str]:
    """Return the options whose values differ between the plug-ins; a missing option counts as None."""
    differing: set[str] = set()
    first = plugins[0].options
    for plugin in plugins:
        for key in (*plugin.options, *first):
            # Values may be lists, which are not hashable, so compare each with the first.
            if plugin.options.get(key) != first.get(key):
                differing.add(key)
    return differing


def _base_name(plugin: PluginRecord) -> str:
    if plugin.label:
        return plugin.label
    if plugin.kind == "segmenter" and plugin.options.get("name"):
        return str(plugin.options["name"])
    if plugin.display_name:
        return plugin.display_name
    return short_name(current_name(plugin.kind, plugin.name))


def non_default_options(used: PluginRecord) -> dict[str, Any]:
    """Return the options whose values are not defaults; all options of an unknown plug-in."""
    factory = lookup(used.kind, used.name) if used.kind else None
    declared = options_of(factory) if factory else ()
    defaults: dict[str, Any] = {}
    for option in declared:
        # JSON has no tuples, so run.json contains lists instead.
        is_tuple = isinstance(option.default, tuple)
        defaults[option.name] = list(option.default) if is_tuple else option.default
    return {
        name: value
        for name, value in used.options.items()
        if name not in defaults or defaults[name] != value
    }


def _numbered(labels: Sequence[str]) -> list[str]:
    """Append " #1", " #2", ... to labels that occur several times."""
    counts = Counter(labels)
    occurrences: Counter[str] = Counter()
    numbered: list[str] = []
    for label in labels:
        occurrences[label] += 1
        if counts[label] > 1:
            label = f"{label} #{occurrences[label]}"
        numbered.append(label)
    return numbered


def short_name(name: str) -> str:
    """Return the class name of a plug-in `path/file.py:Name`; other names are returned unchanged."""
    return name.rpartition(":")[2] if ".py:" in name else name


def metric_name(column: str) -> str:
    """Return the display name of a metric column."""
    return _metric_titles().get(column, column.replace("_", " "))


@cache
def _metric_titles() -> dict[str, str]:
    """Return the titles that metrics define for their columns."""
    titles: dict[str, str] = {}
    for metric in indexed_plugins("metric").values():
        titles |= getattr(metric, "titles", {})
    return titles
