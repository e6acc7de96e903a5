import cv2
import numpy as np
import pytest
from scipy.io import savemat

from segarena.arrays.label_edges import thin_label_edges
from segarena.errors import DatasetMissing, InvalidMask
from segarena.systems.scenes.edges.berkeley_result_files import write_edge_files, write_region_files
from segarena.systems.scenes.edges.edge_summary import summarise_edges
from segarena.systems.scenes.edges.region_measures import summarise_regions
from segarena.systems.scenes.measures.edge_benchmark import (
    EdgeBenchmarkOptions,
    count_image,
    edge_counts_of,
    find_detections,
    read_detection,
    region_counts_of,
)
from segarena.systems.scenes.measures.multi_annotator_images import find_images

LABELS = np.kron(np.array([[1, 2], [3, 4]]), np.ones((60, 80), int))


@pytest.fixture
def humans(tmp_path):
    (tmp_path / "human").mkdir()
    for name in ("a", "b"):
        np.savez(
            tmp_path / "human" / f"{name}.npz", labels=np.stack([LABELS, LABELS]).astype(np.uint8)
        )
    return find_images(tmp_path / "human")


def judge(folder, humans, **rules):
    items = find_detections(folder, humans)
    return [count_image(item, rules=EdgeBenchmarkOptions(**rules)) for item in items.values()]


def test_maps_that_are_the_truth_are_perfect(tmp_path, humans):
    edges = thin_label_edges(LABELS)
    cv2.imwrite(str(tmp_path / "a.png"), edges.astype(np.uint8) * 255)
    np.save(tmp_path / "b.npy", edges.astype(np.float32))
    summary = summarise_edges(
        [edge_counts_of(result) for result in judge(tmp_path, humans, thresholds=3)]
    )
    assert summary.ods.f == summary.ois.f == 1.0
    assert len(summary.curve) == 3


def test_segmentations_bring_their_thresholds_and_are_judged_as_edges_and_regions(tmp_path, humans):
    segs = np.empty((1, 2), object)
    segs[0, 0], segs[0, 1] = np.ones_like(LABELS), LABELS
    for name in ("a", "b"):
        savemat(tmp_path / f"{name}.mat", {"segs": segs})
    results = judge(tmp_path, humans, judged=("edges", "regions"))
    edges = summarise_edges([edge_counts_of(result) for result in results])
    regions = summarise_regions([region_counts_of(result) for result in results])
    assert (edges.ods.threshold, edges.ods.f) == (2.0, 1.0)
    assert (regions.covering.threshold, regions.covering.ods, regions.rand.ods) == (2.0, 1.0, 1.0)
    assert regions.curve[0, 1] == 0.25


def test_ultrametric_maps_of_double_size_give_both(tmp_path, humans):
    double = np.zeros((241, 321))
    double[120], double[:, 160] = 0.6, 0.6
    for name in ("a", "b"):
        savemat(tmp_path / f"{name}.mat", {"ucm2": double})
    results = judge(tmp_path, humans, thresholds=1, judged=("edges", "regions"))
    assert summarise_regions([region_counts_of(result) for result in results]).covering.ods == 1.0
    assert summarise_edges([edge_counts_of(result) for result in results]).ods.f > 0.99


def test_missing_files_are_named_unless_some_are_enough(tmp_path, humans):
    np.save(tmp_path / "a.npy", np.zeros(LABELS.shape))
    with pytest.raises(DatasetMissing, match="1 of 2: b"):
        find_detections(tmp_path, humans)
    assert list(find_detections(tmp_path, humans, is_partial=True)) == ["a"]
    (tmp_path / "a.npy").unlink()
    with pytest.raises(DatasetMissing):
        find_detections(tmp_path, humans, is_partial=True)


def test_files_that_hold_no_map_are_refused(tmp_path):
    (tmp_path / "a.png").write_bytes(b"no picture")
    (tmp_path / "a.mat").write_bytes(b"no matlab")
    (tmp_path / "a.npy").write_bytes(b"no array")
    savemat(tmp_path / "b.mat", {"something": 1})
    cv2.imwrite(str(tmp_path / "b.png"), np.zeros((4, 5, 3), np.uint8))
    for name in ("a.png", "a.mat", "a.npy", "b.mat", "b.png"):
        with pytest.raises(InvalidMask, match=name):
            read_detection(tmp_path / name)


def test_files_have_the_published_columns(tmp_path, humans):
    segs = np.stack([LABELS])
    for name in ("a", "b"):
        np.savez(tmp_path / f"{name}.npz", segs=segs)
    results = judge(tmp_path, humans, judged=("edges", "regions"))
    files = write_edge_files(
        tmp_path, summarise_edges([edge_counts_of(result) for result in results])
    )
    files += write_region_files(
        tmp_path, summarise_regions([region_counts_of(result) for result in results])
    )
    shapes = {file.name: np.loadtxt(file, ndmin=2).shape for file in files}
    assert shapes == {
        "eval_bdry.txt": (1, 8),
        "eval_bdry_img.txt": (2, 5),
        "eval_bdry_thr.txt": (1, 4),
        "eval_cover.txt": (1, 4),
        "eval_cover_img.txt": (2, 4),
        "eval_cover_th.txt": (1, 2),
        "eval_RI_VOI.txt": (1, 6),
        "eval_RI_VOI_thr.txt": (1, 3),
    }
    np.testing.assert_allclose(np.loadtxt(tmp_path / "eval_bdry.txt")[:7], 1.0)


@pytest.mark.parametrize("segs", [np.float64(3), np.zeros(4), np.zeros((4, 5))])
def test_segmentations_of_another_shape_are_refused(tmp_path, segs):
    np.savez(tmp_path / "a.npz", segs=segs)
    with pytest.raises(InvalidMask, match=r"expected `segs` \(T, H, W\), got shape"):
        read_detection(tmp_path / "a.npz")
