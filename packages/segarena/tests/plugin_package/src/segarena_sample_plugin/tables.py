"""A published table of the package, whose figures are in the file next to it."""

from pathlib import Path

from segarena.published import add_paper

add_paper(Path(__file__).with_name("sample.toml"))
