"""Lookup of datasets, weights and adapters on this machine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from segarena.files.safe_paths import safe_join

ADAPTER_FILE = "adapter.py"
INTERPRETERS = ("env/bin/python", ".venv/bin/python", "venv/bin/python")


@dataclass(frozen=True, slots=True, kw_only=True)
class Adapter:
    """The adapter of a model.

    Attributes:
        folder: contains `adapter.py`.
        python: interpreter of its environment; None if not installed.
    """

    folder: Path
    python: Path | None


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalFiles:
    """Folders to search; None if not given.

    Attributes:
        data: folder of datasets and further inputs.
        weights: folder of weights.
        adapters: folder with a subfolder for each adapter.
        options: options for all adapters, in addition to their weights.
    """

    data: Path | None = None
    weights: Path | None = None
    adapters: Path | None = None
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def in_data(self, name: str) -> Path | None:
        """Return a file or folder in the data folder, which may itself be the first folder of `name`."""
        if self.data is None or not name:
            return None
        first, _, rest = name.partition("/")
        places = [safe_join(self.data, name)]
        if self.data.resolve().name == first:
            places.append(safe_join(self.data, rest) if rest else self.data)
        return next((place for place in places if place.exists()), None)

    def weights_of(self, name: str) -> Path | None:
        """Return the weights file with this name, or None."""
        file = safe_join(self.weights, name) if self.weights is not None and name else None
        return file if file is not None and file.exists() else None

    def adapter(self, name: str) -> Adapter | None:
        """Return the adapter with this name, or None.

        Its environment is `env`, `.venv` or `venv` in its folder, or `envs/NAME` in the working directory.
        """
        folder = safe_join(self.adapters, name) if self.adapters is not None and name else None
        if folder is None or not (folder / ADAPTER_FILE).is_file():
            return None
        pythons = [*(folder / path for path in INTERPRETERS), Path("envs", name, "bin", "python")]
        return Adapter(
            folder=folder, python=next((path.absolute() for path in pythons if path.exists()), None)
        )
