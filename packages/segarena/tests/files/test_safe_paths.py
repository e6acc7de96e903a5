"""Names from inside data files stay inside their folder."""

import pytest

from segarena.errors import DatasetError
from segarena.files.safe_paths import safe_join


@pytest.mark.parametrize(
    "name",
    [
        "",
        ".",
        "/etc/passwd",
        "..",
        "../outside.png",
        "a/../../outside.png",
        "a/../b/./../../outside_1.png",
        "..\\outside.png",
        "C:/outside.png",
        "c:outside.png",
        "file:///etc/passwd",
        "a\0.png",
        "a\n.png",
        "NUL",
        "nul.png",
        "sub/COM1.txt",
        "x" * 5000,
        "x" * 300,
    ],
)
def test_a_name_that_leads_out_is_refused(tmp_path, name):
    (tmp_path / "in").mkdir()
    with pytest.raises(DatasetError, match="expected names of files inside this folder, got"):
        safe_join(tmp_path / "in", name)


@pytest.mark.parametrize(
    "name", ["a.png", "a/b c/d.png", "..a.png", "a..b", "nully.png", "com10.png", "ä/ö.png"]
)
def test_a_plain_name_is_joined(tmp_path, name):
    assert safe_join(tmp_path, name) == tmp_path / name


def test_a_link_that_leaves_the_folder_is_refused(tmp_path):
    inside, outside = tmp_path / "in", tmp_path / "out"
    for folder in (inside, outside):
        folder.mkdir()
    (outside / "secret").write_text("x")
    (inside / "link").symlink_to(outside)
    (inside / "file.png").symlink_to(outside / "secret")
    (inside / "loop").symlink_to("loop")
    for name in ("link/secret", "file.png", "loop", "loop/file"):
        with pytest.raises(DatasetError, match="copy what a link points to"):
            safe_join(inside, name)


def test_the_folder_itself_may_be_a_link_and_links_may_stay_inside(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "a.png").write_text("x")
    (tmp_path / "real" / "b.png").symlink_to("a.png")
    (tmp_path / "root").symlink_to("real")
    assert safe_join(tmp_path / "root", "b.png").read_text() == "x"
