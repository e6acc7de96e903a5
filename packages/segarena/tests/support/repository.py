"""The folder with conftest.py, docs and examples: the repository, or an unpacked source distribution."""

from pathlib import Path

ROOT = next(folder for folder in Path(__file__).parents if (folder / "conftest.py").is_file())
