"""Names of label values in the tables of ITK-SNAP and 3D Slicer."""

import pytest

from segarena.errors import DatasetError
from segarena.systems.volumes.files.label_table import read_label_table

SNAP = """################################################
# ITK-SnAP Label Description File
    0     0    0    0        0  0  0    "Clear Label"
    1   255    0    0        1  1  1    "Left  kidney"
    2     0  255    0      0.5  1  1    "Tumour"
    3     0  255    0        1  1  1    "Tumour"
"""
SLICER = """# Color table file
0 Background 0 0 0 0
1 left_kidney 255 0 0 255
"""


def test_names_come_from_a_label_description_of_itk_snap(tmp_path):
    (tmp_path / "organs.label").write_text(SNAP)
    assert read_label_table(tmp_path) == {"Left kidney": (1,), "Tumour": (2, 3)}


def test_names_come_from_a_colour_table_of_slicer(tmp_path):
    (tmp_path / "organs.ctbl").write_text(SLICER)
    assert read_label_table(tmp_path) == {"left_kidney": (1,)}


def test_without_a_table_there_are_no_names(tmp_path):
    assert read_label_table(tmp_path) == {}


def test_other_files_are_refused_in_a_line(tmp_path):
    (tmp_path / "organs.ctbl").write_text("liver, spleen")
    with pytest.raises(DatasetError, match=r"organs\.ctbl, line 1: expected a label of ITK-SNAP"):
        read_label_table(tmp_path)
    (tmp_path / "organs.ctbl").write_bytes(b"\xff\xfe1")
    with pytest.raises(DatasetError, match="expected a label table in UTF-8"):
        read_label_table(tmp_path)
    (tmp_path / "organs.label").write_text(SNAP)
    with pytest.raises(DatasetError, match=r"got organs\.label and organs\.ctbl; keep one"):
        read_label_table(tmp_path)
