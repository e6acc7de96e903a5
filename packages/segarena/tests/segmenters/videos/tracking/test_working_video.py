"""Working frames, the motion between them, and their colours."""

from __future__ import annotations

import cv2
import numpy as np
import pytest

from segarena.samples import VideoSample
from segarena.segmenters.drawing.superpixels import cut_into_superpixels
from segarena.segmenters.videos.tracking.colour_models import ColourModels, colour_bins
from segarena.segmenters.videos.tracking.guided_filter import GuidedFilter
from segarena.segmenters.videos.tracking.superpixel_connections import (
    connect_superpixels,
    superpixel_means,
)
from segarena.segmenters.videos.tracking.working_video import prepare_video


def panned(step=3, frames=3):
    """A textured scene of which each frame shows what lies `step` pixels further right."""
    noise = np.random.default_rng(0).uniform(0, 255, (64, 140, 3)).astype(np.float32)
    scene = cv2.normalize(
        cv2.GaussianBlur(noise, (0, 0), 2.0), None, 0, 255, cv2.NORM_MINMAX
    ).astype(np.uint8)
    images = [scene[:, step * number : step * number + 96] for number in range(frames)]
    return VideoSample(id="panned", frames=images, frame_shape=(64, 96))


def test_flow_follows_a_pan_in_both_directions():
    video = prepare_video(panned(), "test", 10**6)
    inner = (slice(12, -12), slice(12, -12))
    assert np.median(video.flows[0, 0][inner][..., 0]) == pytest.approx(-3, abs=0.2)
    assert np.median(video.flows[1, 1][inner][..., 0]) == pytest.approx(3, abs=0.2)
    assert np.abs(np.median(video.flows[0, 0][inner][..., 1])) < 0.2
    assert not video.flows[0, -1].any()
    assert not video.flows[1, 0].any()


@pytest.mark.parametrize("step", [1, -1])
def test_what_is_carried_lies_where_it_has_moved_to(step):
    video = prepare_video(panned(), "test", 10**6)
    layer = np.zeros((1, 64, 96), np.float32)
    layer[0, 20:40, 40:60] = 1
    moved, trust = video.carry(layer, 1, step)
    expected = np.roll(layer[0], -3 * step, axis=1)
    assert np.abs(moved[0] - expected).mean() < 0.01
    assert np.median(trust) > 0.9


def test_frames_are_shrunk_to_the_working_size():
    video = prepare_video(panned(), "test", 1536)
    assert video.size == (32, 48)
    assert video.scale == (0.5, 0.5)
    assert video.shape == (3, 64, 96)


def test_shares_of_colours_add_up_and_follow_the_samples():
    lab = np.zeros((2, 10, 3), np.uint8)
    lab[0], lab[1] = (60, 120, 120), (180, 150, 120)
    bins = colour_bins(lab)
    models = ColourModels(3)
    models.learn(0, bins[0])
    models.learn(1, bins[1])
    shares = np.exp(models.log_table())
    assert np.allclose(shares.sum(axis=0), 1, atol=1e-5)
    assert shares[0, bins[0, 0]] > 0.6
    assert shares[1, bins[1, 0]] > 0.6
    # Of the third label nothing is known: it is never the most likely where another was seen.
    assert shares[2, bins[0, 0]] < shares[0, bins[0, 0]]
    assert np.allclose(np.exp(ColourModels(2).log_table()), 0.5)


def test_the_number_of_samples_does_not_matter():
    lab = np.array([[[60, 120, 120]], [[180, 150, 120]]], np.uint8)
    bins = colour_bins(lab)
    few, many = ColourModels(2), ColourModels(2)
    for models, times in ((few, 1), (many, 50)):
        models.learn(0, np.repeat(bins[0], times))
        models.learn(1, bins[1])
    assert np.allclose(few.log_table(), many.log_table())


def test_the_guided_filter_smooths_noise_and_keeps_edges():
    guide = np.zeros((30, 40), np.uint8)
    guide[:, 20:] = 200
    rng = np.random.default_rng(0)
    layer = (guide > 0).astype(np.float32) + rng.normal(0, 0.2, guide.shape).astype(np.float32)
    (smooth,) = GuidedFilter(guide, radius_px=4, edge=8.0)(layer[None])
    assert np.abs(smooth - (guide > 0)).max() < 0.25
    assert np.std(smooth[5:-5, 5:15]) < 0.06
    flat = np.full((1, 30, 40), 0.3, np.float32)
    assert np.allclose(GuidedFilter(guide, radius_px=4, edge=8.0)(flat), 0.3, atol=1e-4)


def test_the_number_of_threads_does_not_matter():
    before = cv2.getNumThreads()
    try:
        flows = []
        for threads in (1, 4):
            cv2.setNumThreads(threads)
            flows.append(prepare_video(panned(), "test", 10**6).flows)
    finally:
        cv2.setNumThreads(before)
    assert np.array_equal(*flows)


def test_superpixels_are_connected_to_where_they_move():
    sample = panned()
    video = prepare_video(sample, "test", 10**6)
    graphs = [
        cut_into_superpixels(image, superpixels=60, compactness=10.0, border_weight=0.5)
        for image in sample.frames
    ]
    starts = np.concatenate([[0], np.cumsum([graph.size for graph in graphs])])
    conductances = connect_superpixels(video, graphs, starts, beta=1.0, through_time=1.0)
    assert conductances.shape == (starts[-1], starts[-1])
    assert abs(conductances - conductances.T).max() == 0
    assert conductances.diagonal().max() == 0
    assert conductances[: starts[1], starts[2] :].nnz == 0  # never over a frame
    columns = [superpixel_means(graph, np.indices(graph.labels.shape)[1]) for graph in graphs]
    onward = conductances[: starts[1], starts[1] : starts[2]].tocoo()
    moved = columns[1][onward.coords[1]] - columns[0][onward.coords[0]]
    assert np.average(moved, weights=onward.data) == pytest.approx(-3, abs=1)
