"""Conversion of a dataset as written, the name of a plug-in or a folder of data, to a `PluginSpec`."""

from __future__ import annotations

from pathlib import Path

from segarena.plugin_spec import PluginSpec
from segarena.registry import lookup


def is_folder_of_data(text: str) -> bool:
    """Return whether the text names an existing folder; False if a dataset has the same name."""
    if not text or not Path(text).expanduser().is_dir():
        return False
    return lookup("dataset", text) is None


def dataset_spec(text: str) -> PluginSpec:
    """Return the specification of the dataset that the text names, or of the one that reads the folder it names.

    Raises:
        DatasetMissing: see `detect_dataset`.
        PluginInvalid: see `PluginSpec.parse`.
    """
    if not is_folder_of_data(text):
        return PluginSpec.parse(text)
    # Imported here, because it imports the readers of all layouts.
    from segarena.datasets.folder_detection import detect_dataset

    return detect_dataset(Path(text).expanduser()).spec
