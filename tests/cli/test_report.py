"""`segarena report` and `segarena demo`."""

import shutil

import segarena as package
from segarena.cli import demo


def small_run(folder, segmenter="sample-disc"):
    return package.evaluate("clicks", segmenter=segmenter, dataset="sample-squares", rounds=2, out=folder)


def test_a_report_prints_the_summary_and_says_where_its_files_are(segarena, tmp_path):
    small_run(tmp_path / "r")
    answer = segarena("report", "r")
    assert answer.exit_code == 0, answer.output
    assert "NoC@90" in answer.stdout
    page = tmp_path / "r" / "report"
    assert page.is_dir()
    assert list(page.glob("*.html"))


def test_two_runs_go_into_one_report_where_asked(segarena, tmp_path):
    small_run(tmp_path / "a")
    small_run(tmp_path / "b", "sample-disc(radius_px=4)")
    answer = segarena("report", "a", "b", "--out", "both")
    assert answer.exit_code == 0, answer.output
    assert list((tmp_path / "both").glob("*.html"))


def test_a_report_of_nothing_is_refused(refused):
    assert "nowhere: expected a run folder with a run.json in it" in refused("report", "nowhere")


def test_a_report_of_damaged_records_is_refused(segarena, refused, tmp_path):
    small_run(tmp_path / "r")
    (file,) = (tmp_path / "r" / "records").glob("*.parquet")
    file.write_bytes(b"PAR1")
    assert f"{file.relative_to(tmp_path)} is damaged" in refused("report", "r")


def test_the_demo_judges_two_segmenters_and_writes_a_report(segarena, tmp_path, monkeypatch):
    monkeypatch.setattr(demo, "SEGMENTERS", ("sample-disc", "sample-disc(radius_px=4)"))
    answer = segarena("demo", "--rounds", "1", "--workers", "0", "--out", "d")
    assert answer.exit_code == 0, answer.output
    assert "Open it in a browser; it works offline." in answer.stdout
    assert len(list((tmp_path / "d").glob("*/run.json"))) == 2
    assert list((tmp_path / "d" / "report").glob("*.html"))
    shutil.rmtree(tmp_path / "d")


def test_the_segmenters_of_the_demo_exist():
    from segarena.registry import names

    assert set(demo.SEGMENTERS) <= set(names("segmenter"))
