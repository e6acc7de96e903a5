"""A published table that the package brings: its figures are in the file beside."""

from pathlib import Path

from segarena.published import add_paper

add_paper(Path(__file__).with_name("sample.toml"))
