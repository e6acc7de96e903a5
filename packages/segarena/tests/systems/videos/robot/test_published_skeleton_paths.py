from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis.extra import numpy as hnp
from scipy.ndimage import label

from segarena.systems.videos.robot.published_skeleton_paths import published_longest_paths
from segarena.systems.videos.robot.scribble_lines import draw_lines
from segarena.systems.videos.robot.settings import robot_preset

skeletons = hnp.arrays(np.bool_, hnp.array_shapes(min_dims=2, max_dims=2, max_side=9))


def random_error(seed):
    """Return bool (96, 160): blobs with holes, from whole numbers only, so that they are equal on all machines."""
    window = np.ones(9, dtype=np.int64)
    noise = np.random.default_rng(seed).integers(0, 100, (96, 160))
    for axis in (0, 0, 1, 1):
        noise = np.apply_along_axis(np.convolve, axis, noise, window, "same")
    return noise > np.sort(noise, axis=None)[noise.size // 2]


# First and last point, as (x, y), of the lines of davisinteractive 1.0.4 with scikit-learn 0.22.2, NetworkX 2.5 and
# scikit-image 0.17.2. In each error at least one line is another one if neighbours are visited in raster order.
PUBLISHED_ENDS = {
    5: [
        [[116, 19], [131, 19]],
        [[58, 35], [22, 41]],
        [[58, 64], [57, 68]],
        [[110, 78], [102, 78]],
    ],
    6: [
        [[71, 14], [48, 14]],
        [[134, 20], [144, 16]],
        [[17, 31], [21, 52]],
        [[141, 49], [127, 43]],
        [[50, 59], [64, 66]],
        [[144, 76], [124, 80]],
    ],
    7: [
        [[30, 16], [19, 28]],
        [[100, 36], [100, 19]],
        [[131, 73], [116, 79]],
        [[93, 77], [95, 81]],
    ],
    8: [[[129, 17], [124, 80]], [[55, 34], [64, 24]], [[14, 52], [38, 73]]],
}


@pytest.mark.parametrize("seed", PUBLISHED_ENDS)
def test_lines_have_the_ends_and_the_direction_of_the_published_package(seed):
    error = random_error(seed).astype(np.uint8)
    robot = robot_preset("local-1.0.4", mode="published")
    lines = draw_lines(np.zeros_like(error), error, robot, objects=1)
    ends = [line.points[[0, -1], ::-1].round().astype(int).tolist() for line in lines]
    assert ends == PUBLISHED_ENDS[seed]


def test_a_loop_is_opened_at_the_first_of_its_longest_steps():
    diamond = np.array(
        [[pixel == "#" for pixel in row] for row in ("..#..", ".#.#.", "#...#", ".#.#.", "..#..")]
    )
    (path,) = published_longest_paths(diamond, 1)
    # The search goes left first: from the top to the left end it is the first step that is cut.
    assert path.tolist() == [[1, 1], [2, 0], [3, 1], [4, 2], [3, 3], [2, 4], [1, 3], [0, 2]]


@given(skeletons)
def test_each_component_gives_a_path_of_neighbouring_pixels_in_the_order_of_first_pixels(skeleton):
    components, count = label(skeleton, np.ones((3, 3)))
    paths = published_longest_paths(skeleton, 1)
    assert [int(components[tuple(path[0])]) for path in paths] == list(range(1, count + 1))
    for path in paths:
        assert len(np.unique(path, axis=0)) == len(path)
        assert (np.abs(np.diff(path, axis=0)).max(axis=1, initial=0) <= 1).all()
    assert published_longest_paths(skeleton, skeleton.size + 1) == []
