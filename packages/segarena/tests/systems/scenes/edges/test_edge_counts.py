import numpy as np
import pytest

from segarena.errors import InvalidInput, InvalidMask
from segarena.systems.scenes.edges.edge_counts import (
    as_soft,
    count_edges,
    edge_thresholds,
    maps_of_soft,
    regions_of_ultrametric,
)
from segarena.systems.scenes.edges.edge_matching import match_edges


def line(row, shape=(30, 40)):
    edges = np.zeros(shape, bool)
    edges[row] = True
    return edges


def test_thresholds_are_those_of_the_benchmark():
    np.testing.assert_allclose(edge_thresholds(), np.arange(1, 100) / 100)
    np.testing.assert_allclose(edge_thresholds(5), np.arange(1, 6) / 6)
    with pytest.raises(InvalidInput, match="1 or more"):
        edge_thresholds(0)


def test_counts_add_over_references_and_unite_over_the_map():
    # One person drew row 5, another row 20; the map has both, and row 12, which nobody drew.
    edges = line(5) | line(20) | line(12)
    counts = count_edges([edges], [line(5), line(20)], thresholds=np.array([0.5]), radius_px=2.0)
    assert counts.table.tolist() == [[80, 80, 80, 120]]
    assert counts.recall.tolist() == [1.0]
    assert counts.precision.tolist() == [pytest.approx(2 / 3)]


def test_counts_equal_a_plain_matching_at_each_threshold():
    rng = np.random.default_rng(0)
    soft = rng.random((25, 30))
    references = [rng.random(soft.shape) < 0.1 for _ in range(3)]
    thresholds = edge_thresholds(4)
    maps = list(maps_of_soft(soft, thresholds))
    counts = count_edges(maps, references, thresholds=thresholds, radius_px=1.5)
    for index, edges in enumerate(maps):
        matches = [match_edges(edges, reference, radius_px=1.5) for reference in references]
        union = set().union(*(match.prediction.tolist() for match in matches))
        expected = [
            sum(map(len, matches)),
            sum(r.sum() for r in references),
            len(union),
            edges.sum(),
        ]
        assert counts.table[index].tolist() == expected


def test_equal_maps_in_a_row_have_equal_counts():
    counts = count_edges(
        [line(3)] * 3 + [line(9)], [line(4)], thresholds=edge_thresholds(4), radius_px=1.0
    )
    assert counts.target_matched.tolist() == [40, 40, 40, 0]


def test_nothing_found_and_nothing_drawn_count_zero():
    nothing = np.zeros((6, 7), bool)
    counts = count_edges([nothing], [nothing], thresholds=np.array([0.5]))
    assert counts.recall.tolist() == counts.precision.tolist() == [0.0]


def test_soft_maps_reach_their_threshold_and_are_thinned():
    soft = np.zeros((9, 20))
    soft[3:6, 2:18] = 0.5
    thick, thinned = (
        next(iter(maps_of_soft(soft, np.array([0.5]), thins=thins))) for thins in (False, True)
    )
    assert thick.sum() == 48
    assert thinned.sum() < 17
    assert not next(iter(maps_of_soft(soft, np.array([0.51])))).any()


def test_whole_numbers_are_shares_of_the_largest():
    assert as_soft(np.full((2, 3), 51, np.uint8), (2, 3)).tolist() == [[0.2] * 3] * 2
    assert as_soft(np.full((2, 3), 65535, np.uint16), (2, 3)).max() == 1.0
    assert as_soft(np.ones((2, 3), bool), (2, 3)).min() == 1.0


def test_an_ultrametric_map_of_double_size_gives_edges_and_regions():
    # Two halves of a 4 x 6 image, the edge between columns 2 and 3: at column 6 of the double-sized map.
    double = np.zeros((9, 13))
    double[:, 6] = 0.7
    soft = as_soft(double, (4, 6))
    assert soft.shape == (4, 6)
    assert np.flatnonzero(soft.any(axis=0)).tolist() == [2]
    assert regions_of_ultrametric(double, 0.5, (4, 6)).tolist() == [[1, 1, 1, 2, 2, 2]] * 4
    assert np.unique(regions_of_ultrametric(double, 0.7, (4, 6))).tolist() == [1]


@pytest.mark.parametrize(
    "soft",
    [
        np.full((2, 3), np.nan),
        np.full((2, 3), 1.5),
        np.full((2, 3), -0.1),
        np.ones((2, 3), np.int64),
    ],
)
def test_soft_maps_beyond_0_to_1_are_refused(soft):
    with pytest.raises(InvalidMask, match="levels of 0 to 1"):
        as_soft(soft, (2, 3))


def test_maps_that_do_not_fit_are_refused():
    with pytest.raises(InvalidMask, match="size"):
        as_soft(np.zeros((4, 5)), (5, 4))
    with pytest.raises(InvalidMask, match="double size"):
        regions_of_ultrametric(np.zeros((4, 5)), 0.5, (4, 5))
    with pytest.raises(InvalidMask, match="one reference"):
        count_edges([line(3)], [], thresholds=np.array([0.5]))
    with pytest.raises(InvalidMask, match="same shape"):
        count_edges([line(3)], [line(3, (40, 30))], thresholds=np.array([0.5]))
    with pytest.raises(InvalidInput, match="thresholds"):
        count_edges([line(3)], [line(3)], thresholds=np.array([0.4, 0.5]))
