"""Where data, weights and adapters lie on this machine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from segarena.files.safe_paths import within

PROGRAM = "adapter.py"
INTERPRETERS = ("env/bin/python", ".venv/bin/python", "venv/bin/python")


@dataclass(frozen=True, slots=True, kw_only=True)
class Adapter:
    """A folder with the worker of a model.

    Attributes:
        folder: with `adapter.py`.
        python: the interpreter of its own environment; None where that is not set up.
    """

    folder: Path
    python: Path | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """Folders to look in; None where none was given.

    Attributes:
        data: of datasets and further inputs.
        weights: of weights.
        adapters: of adapters, a folder for each.
        options: what every adapter is given beside its weights.
    """

    data: Path | None = None
    weights: Path | None = None
    adapters: Path | None = None
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def in_data(self, name: str) -> Path | None:
        """Return the file or folder of a name in the data; `DIR/bsds500` is found from `DIR/bsds500` too."""
        if self.data is None or not name:
            return None
        first, _, rest = name.partition("/")
        places = [within(self.data, name)]
        if self.data.resolve().name == first:
            places.append(within(self.data, rest) if rest else self.data)
        return next((place for place in places if place.exists()), None)

    def weights_of(self, name: str) -> Path | None:
        """Return the file of weights of a name."""
        file = within(self.weights, name) if self.weights is not None and name else None
        return file if file is not None and file.exists() else None

    def adapter(self, name: str) -> Adapter | None:
        """Return the adapter of a name.

        Its environment is `env`, `.venv` or `venv` in its folder, or `envs/NAME` where the program was started.
        """
        folder = within(self.adapters, name) if self.adapters is not None and name else None
        if folder is None or not (folder / PROGRAM).is_file():
            return None
        pythons = [*(folder / path for path in INTERPRETERS), Path("envs", name, "bin", "python")]
        return Adapter(
            folder=folder, python=next((path.absolute() for path in pythons if path.exists()), None)
        )
