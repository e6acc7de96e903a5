"""Search for datasets, weights and adapters on this machine."""

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
        folder: folder that contains `adapter.py`.
        python: interpreter of the adapter's environment; None if not installed.
    """

    folder: Path
    python: Path | None


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalFiles:
    """Folders to search; None if not given.

    Attributes:
        data: folder of datasets and additional inputs.
        weights: folder of weights.
        adapters: folder with a subfolder for each adapter.
        options: options for all adapters, in addition to their weights.
    """

    data: Path | None = None
    weights: Path | None = None
    adapters: Path | None = None
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def in_data(self, name: str) -> Path | None:
        """Return a file or folder in the data folder, or None; `name` may start with the name of that folder."""
        if self.data is None or not name:
            return None
        path = safe_join(self.data, name)
        if path.exists():
            return path
        first, _, rest = name.partition("/")
        if self.data.resolve().name == first:
            path = safe_join(self.data, rest) if rest else self.data
            if path.exists():
                return path
        return None

    def weights_of(self, name: str) -> Path | None:
        """Return the path of the weights file with this name, or None if there is none."""
        if self.weights is None or not name:
            return None
        file = safe_join(self.weights, name)
        return file if file.exists() else None

    def adapter(self, name: str) -> Adapter | None:
        """Return the adapter with this name, or None.

        The environment of an adapter is `env`, `.venv` or `venv` in its folder, or `envs/NAME` in
        the working directory.
        """
        if self.adapters is None or not name:
            return None
        folder = safe_join(self.adapters, name)
        if not (folder / ADAPTER_FILE).is_file():
            return None
        interpreters = [folder / path for path in INTERPRETERS]
        interpreters.append(Path("envs", name, "bin", "python"))
        for interpreter in interpreters:
            if interpreter.exists():
                # Do not resolve the link: a virtual environment finds its packages through it.
                return Adapter(folder=folder, python=interpreter.absolute())
        return Adapter(folder=folder, python=None)
