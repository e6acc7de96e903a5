from __future__ import annotations

import numpy as np
import pytest

from segarena.segmenters.drawing.superpixels import cut_into_superpixels


def cut(image):
    return cut_into_superpixels(image, superpixels=60, compactness=25.0, border_weight=0.5)


def noise(height=40, width=50, seed=0):
    return np.random.default_rng(seed).integers(0, 256, (height, width, 3)).astype(np.uint8)


def slow_edges(labels):
    borders = {}
    height, width = labels.shape
    for row in range(height):
        for column in range(width):
            for down, right in ((0, 1), (1, 0)):
                if row + down < height and column + right < width:
                    pair = tuple(
                        sorted((int(labels[row, column]), int(labels[row + down, column + right])))
                    )
                    if pair[0] != pair[1]:
                        borders[pair] = borders.get(pair, 0) + 1
    return borders


@pytest.mark.parametrize("shape", [(40, 50), (1, 9), (3, 3), (30, 7)])
def test_edges_and_border_lengths_are_those_of_a_slow_count(shape):
    graph = cut(noise(*shape))
    found = {
        tuple(edge): int(border)
        for edge, border in zip(graph.edges.tolist(), graph.border_px, strict=True)
    }
    assert found == slow_edges(graph.labels)


def test_the_pixels_of_all_superpixels_are_the_image_once():
    graph = cut(noise())
    assert graph.areas_px.min() > 0
    for superpixel in range(graph.size):
        assert np.array_equal(
            graph.pixels(superpixel), np.flatnonzero(graph.labels.ravel() == superpixel)
        )


def test_contrast_stands_only_where_the_colour_changes():
    strong = np.full((40, 40, 3), 60, np.uint8)
    strong[:, 20:] = 200
    graph = cut(strong)
    assert graph.labels[0, 5] != graph.labels[0, 35]
    assert graph.contrasts.max() > 10
    assert graph.contrasts.min() < 1e-3


def test_a_tiny_image_has_a_node_per_pixel():
    assert cut(noise(4, 5)).size == 20
    assert cut(noise(1, 1)).size == 1
    assert len(cut(noise(1, 1)).edges) == 0


def test_a_constant_image_has_no_contrast():
    assert (cut(np.full((40, 50, 3), 77, np.uint8)).contrasts < 1e-3).all()


@pytest.mark.long
def test_a_large_image_is_cut_into_about_as_many_at_its_own_size():
    rows, columns = np.mgrid[:900, :1080]
    image = np.stack([rows % 256, columns % 256, (rows + columns) % 256], axis=2).astype(np.uint8)
    graph = cut(image)
    assert graph.labels.shape == image.shape[:2]
    assert 30 <= graph.size <= 120
