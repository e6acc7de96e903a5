"""Cached encodings: reuse, eviction, and records that do not depend on the cache."""

import importlib
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays, scalar_dtypes

import segarena
from segarena import ImageSample, VideoSample, VolumeSample, registry
from segarena.engine import encoding_cache
from segarena.engine.disk_cache import SUFFIX, BlobFolder
from segarena.engine.encoding_cache import (
    Encoder,
    class_source_files,
    from_bytes,
    sample_key,
    segmenter_key,
    to_bytes,
)
from segarena.errors import InvalidInput, SegmenterError, StoreError
from segarena.work.lru_cache import LruCache

pytestmark = pytest.mark.usefixtures("quick_workers")

PACKING = Path(__file__).parent / "packing.py"


@pytest.fixture(autouse=True)
def always_worth_it(monkeypatch):
    """Store encodings even if they are fast, so that no test depends on seconds."""
    monkeypatch.setattr(encoding_cache, "WORTH", 0.0)


@pytest.fixture
def packs(tmp_path):
    """Return the specification of a segmenter that logs its encodes, and the samples that it has encoded so far."""
    log = tmp_path / "encodes.log"

    def written(kind="Packs", **options):
        inner = ", ".join(f"{key}={value!r}" for key, value in {"log": str(log), **options}.items())
        return f"{PACKING}:{kind}({inner})"

    return written, lambda: log.read_text().split() if log.exists() else []


def content(folder, *tables):
    return {
        file.relative_to(folder.path): file.read_bytes()
        for table in tables
        for file in sorted((folder.path / table).glob("*.parquet"))
    }


def image(value=0, name="a"):
    return ImageSample(id=name, image=np.full((4, 5, 3), value, dtype=np.uint8))


class Clock:
    """Waits for permission before each answer."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


class Timed:
    """Counts its calls; they take known times on `clock`."""

    def __init__(self, clock, *, encode_s=8.0, unpack_s=1.0):
        self.clock, self.encode_s, self.unpack_s = clock, encode_s, unpack_s
        self.encodes = 0

    def encode(self, sample):
        self.clock.now += self.encode_s
        self.encodes += 1
        return sample.image.copy()

    def pack(self, encoded):
        return {"image": encoded}

    def unpack(self, arrays):
        self.clock.now += self.unpack_s
        return arrays["image"]


def encoder(segmenter, folder, *, limit_bytes=10**6, clock=None, key="k"):
    return Encoder(
        segmenter, key=key, folder=folder, limit_bytes=limit_bytes, clock=clock or Clock()
    )


def test_records_and_masks_are_the_same_bytes_without_with_a_cold_and_with_a_warm_cache(
    small_run, packs, tmp_path
):
    written, _ = packs
    runs = [
        small_run(written(), out=tmp_path / "without"),
        small_run(written(), out=tmp_path / "cold", cache=tmp_path / "cache"),
        small_run(written(), out=tmp_path / "warm", cache=tmp_path / "cache"),
    ]
    contents = [content(run, "records", "masks") for run in runs]
    assert contents[0] == contents[1] == contents[2]
    assert {Path(name).parent.name for name in contents[0]} == {"records", "masks"}
    counts = [(run.config.counts.encodes, run.config.counts.encodes_from_cache) for run in runs]
    assert counts == [(4, 0), (4, 0), (0, 4)]


def test_only_real_encoder_passes_are_round_0_of_the_timings(small_run, packs, tmp_path):
    written, encoded = packs
    small_run(written(), out=tmp_path / "half", cache=tmp_path / "cache", limit=2)
    timings = small_run(written(), cache=tmp_path / "cache").timings()
    by_round = {
        round_: timings.filter(pl.col("round") == round_)["sample"].to_list() for round_ in (-1, 0)
    }
    assert by_round == {-1: ["square-0", "square-1"], 0: ["square-2", "square-3"]}
    assert encoded() == ["square-0", "square-1", "square-2", "square-3"]


def test_another_benchmark_with_other_users_on_the_same_images_encodes_nothing(packs, tmp_path):
    written, encoded = packs
    common = {
        "segmenter": written(),
        "dataset": "sample-squares(count=3)",
        "cache": tmp_path / "cache",
        "rounds": 2,
    }
    segarena.evaluate("clicks", users=["centre"], out=tmp_path / "clicks", **common)
    assert len(encoded()) == 3
    run = segarena.evaluate(
        "rclicks",
        users=["unlikely=uniform(low=0.0, high=0.5)", "uniform"],
        out=tmp_path / "rclicks",
        **common,
    )
    assert len(encoded()) == 3
    assert run.config.counts.encodes_from_cache == 3
    assert run.config.counts.failures == 0


def test_other_options_and_other_weights_find_nothing(small_run, packs, tmp_path):
    written, encoded = packs
    for number, options in enumerate(({}, {"scale": 3.0}, {"weights": "b"})):
        small_run(written(**options), out=tmp_path / str(number), cache=tmp_path / "cache")
        assert len(encoded()) == 4 * (number + 1)


def test_a_segmenter_that_cannot_pack_is_encoded_every_time(small_run, packs, tmp_path):
    written, encoded = packs
    for number in (1, 2):
        run = small_run(written("PacksNot"), out=tmp_path / str(number), cache=tmp_path / "cache")
        assert len(encoded()) == 4 * number
        assert run.config.counts.encodes_from_cache == 0


def test_workers_share_the_folder_with_this_process(small_run, packs, tmp_path):
    written, encoded = packs
    here = small_run(written(), out=tmp_path / "here", cache=tmp_path / "cache")
    workers = small_run(written(), out=tmp_path / "workers", cache=tmp_path / "cache", workers=2)
    assert content(here, "records") == content(workers, "records")
    assert workers.config.counts.encodes_from_cache == 4
    assert len(encoded()) == 4


def test_packing_something_else_than_numbers_is_a_recorded_failure(small_run, packs, tmp_path):
    written, _ = packs
    run = small_run(written("PacksObjects"), cache=tmp_path / "cache", limit=1)
    (failure,) = run.records()["failure"].to_list()
    assert failure == "encode: pack: expected named arrays of numbers, got ndarray for 'sample'"


def test_a_damaged_file_is_ignored_and_written_again(small_run, packs, tmp_path):
    written, encoded = packs
    good = small_run(written(), out=tmp_path / "good", cache=tmp_path / "cache")
    files = sorted((tmp_path / "cache").iterdir())
    before = [file.read_bytes() for file in files]
    files[0].write_bytes(before[0][:-1])
    files[1].write_bytes(b"")
    files[2].write_bytes(before[2][:50] + bytes([before[2][50] ^ 1]) + before[2][51:])
    again = small_run(written(), out=tmp_path / "again", cache=tmp_path / "cache")
    assert len(encoded()) == 4 + 3
    assert content(good, "records", "masks") == content(again, "records", "masks")
    assert [file.read_bytes() for file in files] == before


def test_the_same_pixels_under_another_name_are_read_from_memory_even_when_the_file_is_gone(
    tmp_path,
):
    segmenter = Timed(Clock())
    keeps = encoder(segmenter, tmp_path)
    first = keeps.encode(image(7, "a"))
    for file in tmp_path.iterdir():
        file.unlink()
    second = keeps.encode(image(7, "b"))
    assert (first.is_from_cache, second.is_from_cache, segmenter.encodes) == (False, True, 1)
    assert np.array_equal(first.value, second.value)
    second.value[:] = 0
    assert (keeps.encode(image(7)).value == 7).all()


def test_seconds_are_those_of_the_pass_or_of_reading(tmp_path):
    clock = Clock()
    keeps = encoder(Timed(clock, encode_s=8.0, unpack_s=0.5), tmp_path, clock=clock)
    assert [keeps.encode(image()).seconds for _ in range(2)] == [8.0, 0.5]


@pytest.mark.parametrize(("encode_s", "encodes", "files"), [(0.9, 4, 1), (1.0, 2, 2), (1.1, 2, 2)])
def test_an_encode_that_takes_less_than_reading_is_not_kept(
    tmp_path, monkeypatch, encode_s, encodes, files
):
    monkeypatch.setattr(encoding_cache, "WORTH", 1.0)
    clock = Clock()
    segmenter = Timed(clock, encode_s=encode_s, unpack_s=1.0)
    keeps = encoder(segmenter, tmp_path, clock=clock)
    for value in (1, 2, 1, 2):
        assert (keeps.encode(image(value)).value == value).all()
    assert segmenter.encodes == encodes
    assert len(list(tmp_path.iterdir())) == files


def test_without_a_folder_or_a_key_every_encode_is_a_pass(tmp_path):
    for without in (Encoder(Timed(Clock())), encoder(Timed(Clock()), tmp_path / "cache", key="")):
        assert [without.encode(image()).is_from_cache for _ in range(2)] == [False, False]
    assert not (tmp_path / "cache").exists()


ENCODE_MANY = """
import sys
from pathlib import Path

import numpy as np

from segarena import ImageSample
from segarena.engine import encoding_cache

encoding_cache.WORTH = 0.0
passes, wrong = 0, 0


class Doubles:
    def encode(self, sample):
        global passes
        passes += 1
        return sample.image * 2

    def pack(self, encoded):
        return {"image": encoded}

    def unpack(self, arrays):
        return arrays["image"]


encoder = encoding_cache.Encoder(Doubles(), key="k", folder=Path(sys.argv[1]), limit_bytes=10**7)
sys.stdin.readline()
for value in map(int, sys.argv[2:]):
    image = np.full((64, 64, 3), value, dtype=np.uint8)
    wrong += not np.array_equal(encoder.encode(ImageSample(id="a", image=image)).value, image * 2)
print(wrong, passes)
"""


@pytest.mark.long
def test_two_processes_on_one_folder_read_what_the_other_wrote_and_never_half_a_file(tmp_path):
    def start(values):
        command = [sys.executable, "-c", ENCODE_MANY, str(tmp_path), *map(str, values)]
        return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def answers(*processes):
        for process in processes:
            process.stdin.write("\n")
            process.stdin.flush()
        return [
            tuple(map(int, process.communicate(timeout=60)[0].split())) for process in processes
        ]

    values = range(40)
    (wrong, passes), (wrong_too, passes_too) = answers(start(values), start(values[::-1]))
    assert wrong == wrong_too == 0
    assert 40 <= passes + passes_too <= 80
    assert answers(start(values)) == [(0, 0)]
    assert len(list(tmp_path.iterdir())) == 40


def test_the_folder_lets_go_of_what_was_used_longest_ago_and_of_nothing_else(tmp_path):
    foreign = tmp_path / "photo.npz"
    foreign.write_bytes(bytes(500))
    blobs = BlobFolder(tmp_path, 100)
    for age, key in enumerate("abc"):
        blobs.put(key, bytes(30))
        os.utime(tmp_path / f"{key}{SUFFIX}", (age, age))
    assert blobs.get("a") == bytes(30)
    blobs.put("d", bytes(60))
    assert {file.name for file in tmp_path.iterdir()} == {"photo.npz", f"a{SUFFIX}", f"d{SUFFIX}"}
    assert blobs.get("b") is None


def test_what_a_dead_process_left_half_written_goes_too(tmp_path):
    left = tmp_path / f".a{SUFFIX}.1234.part"
    left.write_bytes(bytes(80))
    os.utime(left, (1, 1))
    BlobFolder(tmp_path, 100).put("b", bytes(30))
    assert [file.name for file in tmp_path.iterdir()] == [f"b{SUFFIX}"]


def test_a_blob_above_the_limit_is_not_kept_and_costs_the_others_nothing(tmp_path):
    blobs = BlobFolder(tmp_path, 100)
    memory = LruCache[str, bytes](max_bytes=100)
    for key, size in (("a", 60), ("b", 101)):
        blobs.put(key, bytes(size))
        memory.put(key, bytes(size), size)
    assert blobs.get("a") == bytes(60)
    assert blobs.get("b") is memory.get("b") is None


def test_memory_lets_go_of_what_was_used_longest_ago():
    memory = LruCache[str, bytes](max_bytes=100)
    for key in "abc":
        memory.put(key, bytes(30), 30)
    memory.get("a")
    memory.put("a", bytes(40), 40)
    memory.put("d", bytes(30), 30)
    assert [key for key in "abcd" if memory.get(key) is not None] == ["a", "c", "d"]


def test_memory_keeps_no_more_than_so_many():
    memory = LruCache[str, bytes](max_bytes=100, max_entries=2)
    for key in "abc":
        memory.put(key, bytes(1), 1)
    assert [key for key in "abc" if memory.get(key) is not None] == ["b", "c"]


def test_a_full_disk_ends_no_run(tmp_path, monkeypatch):
    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    keeps = encoder(Timed(Clock()), tmp_path)
    assert (keeps.encode(image(3)).value == 3).all()
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_made_is_refused_before_the_run(small_run, packs, tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match=r"cannot be used as a cache: .*; choose another --cache"):
        small_run(packs[0](), cache=tmp_path / "file" / "cache")
    with pytest.raises(InvalidInput, match="more than 0 GB, got 0"):
        small_run(packs[0](), cache=tmp_path / "cache", cache_gb=0)


@given(
    named=st.dictionaries(
        st.text(st.characters(codec="ascii", exclude_characters="\0/\\"), min_size=1, max_size=5),
        arrays(scalar_dtypes(), array_shapes(min_dims=0, min_side=0)),
        max_size=3,
    )
)
def test_packed_arrays_come_back_as_they_were(named):
    back = from_bytes(to_bytes(named))
    assert list(back) == list(named)
    for name, array in named.items():
        assert (back[name].dtype, back[name].shape) == (array.dtype, array.shape)
        assert back[name].tobytes() == array.tobytes()


@given(place=st.integers(0), bit=st.integers(0, 7))
def test_any_changed_bit_is_noticed(place, bit):
    data = bytearray(to_bytes({"a": np.arange(3)}))
    data[place % len(data)] ^= 1 << bit
    assert from_bytes(bytes(data)) is None


@given(cut=st.integers(0, 200))
def test_any_cut_is_noticed(cut):
    data = to_bytes({"a": np.arange(3)})
    assert len(data) > 200
    assert from_bytes(data[:cut]) is None


def test_arrays_of_objects_are_refused():
    with pytest.raises(SegmenterError, match="expected named arrays of numbers, got list for 'a'"):
        to_bytes({"a": [object()]})


def test_every_pixel_and_the_shape_are_in_the_key_and_the_name_is_not():
    base = image(7)
    other = image(7)
    other.image[3, 4, 2] = 8
    turned = ImageSample(id="a", image=np.ascontiguousarray(base.image.swapaxes(0, 1)))
    keys = [sample_key("k", sample) for sample in (base, image(7, "b"), other, turned)]
    assert keys[0] == keys[1]
    assert len({*keys, sample_key("l", base)}) == 4
    strided = ImageSample(id="a", image=np.full((8, 5, 3), 7, dtype=np.uint8)[::2])
    assert sample_key("k", strided) == keys[0]


def test_spacing_affine_modality_and_frames_are_in_the_key():
    voxels, spacing_mm = np.zeros((2, 3, 4)), (1.0, 1.0, 1.0)
    samples = [
        VolumeSample(id="v", voxels=voxels, spacing_mm=spacing_mm),
        VolumeSample(id="v", voxels=voxels.astype(np.float32), spacing_mm=spacing_mm),
        VolumeSample(id="v", voxels=voxels, spacing_mm=(2.0, 1.0, 1.0)),
        VolumeSample(id="v", voxels=voxels, spacing_mm=spacing_mm, affine=np.eye(4)),
        VolumeSample(id="v", voxels=voxels, spacing_mm=spacing_mm, modality="CT"),
        VideoSample(id="v", frames=[np.zeros((3, 4, 3), np.uint8)] * 2, frame_shape=(3, 4)),
        VideoSample(id="v", frames=[np.zeros((3, 4, 3), np.uint8)] * 3, frame_shape=(3, 4)),
    ]
    assert len({sample_key("k", sample) for sample in samples}) == len(samples)


@pytest.mark.long
def test_what_decides_an_encoding_is_in_the_key_of_the_segmenter():
    def key(described=None, environment=None, **facts):
        segmenter = Timed(Clock())
        for name, value in facts.items():
            setattr(segmenter, name, value)
        return segmenter_key(segmenter, described, environment or {"torch": "2"})

    base = {"name": "n", "options": {"size": 1}}
    keys = [
        key(base),
        key({"name": "n", "options": {"size": 2}}),
        key(base, {"torch": "3"}),
        key(base, fingerprint="weights"),
        key(base, device="cuda:0"),
    ]
    assert len(set(keys)) == len(keys)
    assert key(base, device="cuda:1") == keys[-1]
    assert key() == ""
    assert key(fingerprint="weights") != ""
    assert key(base, pack=None) == ""


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package whose segmenter encodes in another of its modules; returns its folder and its class."""
    folder = tmp_path / "package_of_a_segmenter"
    (folder / "inner").mkdir(parents=True)
    for name, source in {
        "__init__.py": "",
        "inner/__init__.py": "",
        "inner/network.py": "def encode(image):\n    return image\n",
        "plugin.py": "from .inner.network import encode\n\n\nclass Packs:\n    pack = unpack = encode = print\n",
    }.items():
        (folder / name).write_text(source)
    monkeypatch.syspath_prepend(tmp_path)
    yield folder, importlib.import_module("package_of_a_segmenter.plugin").Packs
    for name in [name for name in sys.modules if name.startswith("package_of_a_segmenter")]:
        del sys.modules[name]


def test_any_file_of_the_segmenters_package_that_changes_changes_the_key(package):
    folder, kind = package
    keys = [segmenter_key(kind(), {}, {})]
    assert segmenter_key(kind(), {}, {}) == keys[0]
    (folder / "README.md").write_text("no source")
    assert segmenter_key(kind(), {}, {}) == keys[0]
    for name in ("plugin.py", "inner/network.py", "inner/new.py"):
        with (folder / name).open("a") as file:
            file.write("# changed\n")
        keys.append(segmenter_key(kind(), {}, {}))
    assert len(set(keys)) == len(keys) == 4


def test_all_that_ours_are_made_of_is_in_their_source_and_in_that_of_what_inherits_from_them(
    package,
):
    ours = registry.find("segmenter", "sam")
    files = class_source_files(ours)
    for name in (
        "segmenters/learned/sam.py",
        "segmenters/learned/promptable/image_space.py",
        "samples.py",
        "segmenters/weights/sam.py",
    ):
        assert files[f"segarena/{name}"].is_file()
    _, kind = package
    both = class_source_files(type("Mine", (ours, kind), {"__module__": kind.__module__}))
    assert set(both) == {*files, *class_source_files(kind)}
    assert len(class_source_files(kind)) == 4


def test_a_class_in_a_file_of_its_own_is_taken_with_that_file_alone(packs):
    written, _ = packs
    segmenter = registry.build("segmenter", written())
    assert list(class_source_files(type(segmenter)).values()) == [PACKING]
    assert class_source_files(type("Typed", (), {"__module__": "nowhere"})) == {}
