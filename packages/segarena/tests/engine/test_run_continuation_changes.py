"""A changed run in its folder: repaired plug-ins after failures, more samples, more rounds."""

import pytest

import segarena
from segarena.engine.rows_before_extension import keep_rows
from segarena.errors import RunConflict, WorkError

BROKEN = """
import numpy as np

class Mine:
    def encode(self, sample):
        return sample.id, sample.shape

    def predict(self, encoded, dialogues):
        name, shape = encoded
        if name in {bad}:
            raise KeyError("weight")
        return [np.zeros(shape, bool) for _ in dialogues]
"""


def bytes_of(folder, tables=("records", "masks")):
    return {
        (table, file.name.partition(".")[0]): file.read_bytes()
        for table in tables
        for file in (folder.path / table).iterdir()
    }


@pytest.fixture
def mine(tmp_path):
    """A plug-in file; called with the samples on which it fails."""
    file = tmp_path / "mine.py"

    def write(*bad):
        file.write_text(BROKEN.format(bad=repr(bad)))
        return f"{file}:Mine"

    return write


def test_a_mended_file_goes_on_where_nothing_was_done(small_run, mine, tmp_path):
    everything = [f"square-{number}" for number in range(4)]
    with pytest.raises(WorkError, match="Fix the cause and repeat the command"):
        small_run(mine(*everything), keep_going=False)
    folder = small_run(mine(), keep_going=False)
    assert folder.config.counts.failures == 0
    fresh = small_run(mine(), out=tmp_path / "fresh")
    assert bytes_of(folder) == bytes_of(fresh)
    assert folder.config.segmenter == fresh.config.segmenter
    assert folder.config.identity.sources == fresh.config.identity.sources


@pytest.mark.long
def test_after_failures_the_failed_samples_run_again_and_the_others_stay(small_run, mine, tmp_path):
    before = small_run(mine("square-1", "square-3"))
    timings = before.timings()
    sources = before.config.identity.sources
    folder = small_run(mine("square-3"))
    assert folder.config.counts.failures == 1
    assert folder.config.identity.earlier_sources == (sources,)
    assert folder.config.identity.sources != sources
    assert folder.config.segmenter.sha256 != before.config.segmenter.sha256
    finished = timings.filter(timings["sample"].is_in(["square-0", "square-2"]))
    now = folder.timings()
    assert now.filter(now["sample"].is_in(["square-0", "square-2"])).equals(finished)
    note = "mine.py changed since this run; failed samples run again: 2; finished samples"
    assert any(note in text for text in folder.notes)
    folder = small_run(mine())
    assert folder.config.counts.failures == 0
    assert len(folder.config.identity.earlier_sources) == 2
    assert bytes_of(folder) == bytes_of(small_run(mine(), out=tmp_path / "fresh"))


def test_an_option_that_the_mended_file_has_is_no_other_run(small_run, mine, tmp_path):
    small_run(mine("square-1"))
    text = BROKEN.format(bad="()")
    (tmp_path / "mine.py").write_text(
        text.replace("class Mine:", "class Mine:\n    def __init__(self, *, scale: int = 2): ...\n")
    )
    folder = small_run(f"{tmp_path / 'mine.py'}:Mine")
    assert folder.config.counts.failures == 0
    assert folder.config.segmenter.options == {"scale": 2}


def test_without_failures_a_changed_file_is_refused_as_before(small_run, mine):
    small_run(mine())
    with pytest.raises(RunConflict, match=r"your file mine\.py changed since this run"):
        small_run(mine("nothing"))


def test_processes_that_share_a_run_do_not_mix_files(small_run, mine):
    small_run(mine("square-1"))
    with pytest.raises(RunConflict, match=r"your file mine\.py changed since this run"):
        small_run(mine(), share=True)


@pytest.mark.parametrize("limit", [3, None])
def test_a_run_grows_by_samples_and_keeps_the_others(small_run, tmp_path, limit):
    timings = small_run(limit=2).timings()
    folder = small_run(limit=limit)
    fresh = small_run(limit=limit, out=tmp_path / "fresh")
    assert folder.config.dataset.samples == fresh.config.dataset.samples
    assert folder.config.identity.data == fresh.config.identity.data
    assert folder.config.counts == fresh.config.counts
    assert bytes_of(folder) == bytes_of(fresh)
    assert folder.timings().head(timings.height).equals(timings)
    assert segarena.RunFolder.open(folder.path).is_complete


@pytest.mark.long
def test_a_run_of_more_rounds_repeats_only_the_samples_that_go_on(small_run, plugin, tmp_path):
    early = plugin("StopsEarly")
    before = small_run(users=[early], rounds=2)
    ended = {row[0] for row in before.records().group_by("sample").len().iter_rows() if row[1] < 2}
    timings = before.timings()
    folder = small_run(users=[early], rounds=5)
    fresh = small_run(users=[early], rounds=5, out=tmp_path / "fresh")
    assert 0 < len(ended) < 4
    assert bytes_of(folder) == bytes_of(fresh)
    now = folder.timings()
    kept = now.filter(now["sample"].is_in(ended))
    assert kept.equals(timings.filter(timings["sample"].is_in(ended)))
    assert folder.config.rounds == 5


@pytest.mark.long
def test_a_run_grows_by_samples_and_rounds_while_some_are_pending(small_run, tmp_path):
    folder = small_run(limit=2, rounds=1)
    with folder.lock():
        folder.discard([1])
    folder = small_run()
    assert bytes_of(folder) == bytes_of(small_run(out=tmp_path / "fresh"))


def test_a_run_does_not_shrink(small_run):
    small_run(limit=3, rounds=2)
    with pytest.raises(RunConflict, match=r"rounds = 2, but the requested run has 1"):
        small_run(limit=3, rounds=1)
    with pytest.raises(
        RunConflict, match=r"dataset\.samples = 3 entries, but the requested run has 2"
    ):
        small_run(limit=2, rounds=2)


@pytest.mark.long
def test_a_run_does_not_grow_over_data_that_changed(small_run, tmp_path):
    import cv2
    import numpy as np

    root = tmp_path / "photos"
    for part in ("images", "masks"):
        (root / part).mkdir(parents=True)
        for name in "abc":
            pixels = np.zeros((20, 30), np.uint8)
            pixels[5:9, 5:9] = 255
            cv2.imwrite(str(root / part / f"{name}.png"), pixels)
    dataset = f"folder(path={str(root)!r})"
    small_run(dataset=dataset, limit=2)
    assert small_run(dataset=dataset, limit=3).is_complete
    small_run(dataset=dataset, limit=1, out=tmp_path / "other")
    pixels[1:9, 1:9] = 255
    cv2.imwrite(str(root / "masks" / "a.png"), pixels)
    with pytest.raises(
        RunConflict, match=r"the dataset's files changed since this run|fingerprint"
    ):
        small_run(dataset=dataset, limit=3, out=tmp_path / "other")


@pytest.mark.long
def test_a_grown_run_of_several_blocks_is_joined(small_run, tmp_path, monkeypatch):
    from segarena.records import compaction

    monkeypatch.setattr(compaction, "BLOCK_SAMPLES", 2)
    dataset = "sample-squares(count=7)"
    small_run(dataset=dataset, limit=3)
    folder = small_run(dataset=dataset)
    assert not [file for file in (folder.path / "records").iterdir() if file.stem.isdecimal()]
    assert bytes_of(folder) == bytes_of(small_run(dataset=dataset, out=tmp_path / "fresh"))
    assert not folder.damaged()[0]


@pytest.mark.long
def test_a_run_has_a_name_and_can_be_renamed(small_run, plugin, tmp_path):
    folder = small_run(plugin("Good"), name="Mine, lr 0.1")
    assert folder.config.segmenter.label == "Mine, lr 0.1"
    assert folder.summary()["segmenter"] == "Mine, lr 0.1"
    before = bytes_of(folder)
    folder = small_run(plugin("Good"), name="Mine")
    assert folder.summary()["segmenter"] == "Mine"
    assert small_run(plugin("Good")).summary()["segmenter"] == "Mine"
    assert bytes_of(folder) == before
    other = small_run(plugin("Good"), out=tmp_path / "other", name="Yours", seed=0)
    table = folder.compare(other)
    assert table["difference"] == "Yours − Mine"


SLOWER = """
class Slower:
    def next(self, turn):
        return turn.rng and [__import__("segarena").Click((3, 3), True)]
"""


def without_seconds(folder):
    return folder.timings().drop("predict_s")


@pytest.mark.long
def test_a_run_grows_by_users_and_keeps_the_dialogues_of_the_others(small_run, tmp_path):
    before = small_run(users=["centre"], repeats=2)
    timings = before.timings().filter(before.timings()["user"] == "centre")
    folder = small_run(users=["uniform", "centre"], repeats=2)
    fresh = small_run(users=["uniform", "centre"], repeats=2, out=tmp_path / "fresh")
    assert any("this run continues with 1 more user" in note for note in folder.notes)
    assert bytes_of(folder) == bytes_of(fresh)
    assert without_seconds(folder).equals(without_seconds(fresh))
    now = folder.timings()
    # The seconds show that these dialogues did not run again.
    assert now.filter(now["user"] == "centre").equals(timings)
    assert folder.config.users == fresh.config.users
    assert folder.config.counts == fresh.config.counts
    assert not (folder.path / "earlier").exists()
    assert segarena.RunFolder.open(folder.path).is_complete


@pytest.mark.long
def test_a_run_grows_by_users_samples_and_rounds_at_once(small_run, tmp_path):
    small_run(users=["centre"], limit=2, rounds=2)
    folder = small_run(users=["centre", "uniform"], rounds=4)
    fresh = small_run(users=["centre", "uniform"], rounds=4, out=tmp_path / "fresh")
    assert bytes_of(folder) == bytes_of(fresh)
    assert folder.config.counts == fresh.config.counts


@pytest.mark.long
def test_an_interrupted_extension_by_users_goes_on(small_run, tmp_path):
    small_run(users=["centre"])
    with pytest.raises(KeyboardInterrupt):
        small_run(users=["centre", "uniform"], on_progress=stop_after(2))
    path = tmp_path / "run"
    assert 0 < len(segarena.RunFolder.open(path).pending()) < 4
    assert (path / "earlier").is_dir()
    with pytest.raises(RunConflict, match=r"extended to the users centre, uniform; repeat that"):
        small_run(users=["centre", "uniform", "far=uniform"])
    folder = small_run(users=["centre", "uniform"])
    fresh = small_run(users=["centre", "uniform"], out=tmp_path / "fresh")
    assert bytes_of(folder) == bytes_of(fresh)
    assert not (path / "earlier").exists()


@pytest.mark.long
@pytest.mark.parametrize("users", [["centre"], ["centre", "uniform"]])
def test_an_extension_that_died_before_it_was_recorded_loses_no_dialogue(
    small_run, tmp_path, users
):
    folder = small_run(users=["centre"])
    timings = folder.timings().filter(folder.timings()["user"] == "centre")
    keep_rows(folder.path, folder.config)
    with folder.lock():
        folder.discard([0, 1, 3])
    folder = small_run(users=users)
    now = folder.timings()
    assert now.filter(now["user"] == "centre").equals(timings)
    assert bytes_of(folder) == bytes_of(small_run(users=users, out=tmp_path / "fresh"))
    assert not (folder.path / "earlier").exists()


@pytest.mark.long
def test_damaged_rows_to_keep_are_computed_again(small_run, tmp_path):
    folder = small_run(users=["centre"])
    keep_rows(folder.path, folder.config)
    with folder.lock():
        folder.discard([0, 1, 2, 3])
    for file in (folder.path / "earlier" / "records").iterdir():
        file.unlink()
        file.write_bytes(b"PAR1 damaged")
    folder = small_run(users=["centre", "uniform"])
    fresh = small_run(users=["centre", "uniform"], out=tmp_path / "fresh")
    assert bytes_of(folder) == bytes_of(fresh)


@pytest.mark.long
def test_failed_dialogues_run_again_when_users_are_added(small_run, mine, tmp_path):
    small_run(mine("square-1"), users=["centre"])
    folder = small_run(mine(), users=["centre", "uniform"])
    fresh = small_run(mine(), users=["centre", "uniform"], out=tmp_path / "fresh")
    assert folder.config.counts.failures == 0
    assert bytes_of(folder) == bytes_of(fresh)


@pytest.mark.long
def test_a_user_from_a_file_may_be_added_and_an_edited_one_not(small_run, tmp_path):
    file = tmp_path / "users.py"
    file.write_text(SLOWER)
    small_run(users=["centre"], rounds=1)
    mine = f"mine={file}:Slower"
    folder = small_run(users=["centre", mine], rounds=1)
    assert str(file) in folder.config.identity.sources
    file.write_text(SLOWER.replace("3, 3", "4, 4"))
    with pytest.raises(RunConflict, match=r"your file users\.py changed"):
        small_run(users=["centre", mine, "uniform"], rounds=1)


def test_a_person_joins_no_run_that_exists(small_run):
    small_run(users=["centre"])
    with pytest.raises(RunConflict, match=r"human is a person, whom only a new run can ask"):
        small_run(users=["centre", "human"])


def test_a_run_loses_no_user(small_run):
    small_run(users=["centre", "uniform"])
    with pytest.raises(RunConflict, match=r"users = 2 entries, but the requested run has 1"):
        small_run(users=["centre"])


def stop_after(count):
    """A receiver of progress that interrupts the run after so many samples."""

    def watch(progress):
        if progress.done >= count:
            raise KeyboardInterrupt

    return watch
