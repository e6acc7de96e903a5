"""The cheapest of the largest matchings of a sparse bipartite graph.

SciPy solves the case where every row finds a partner, at a cost that grows with rows times columns. So one largest
matching is found first; it tells which rows compete for too few columns (the Dulmage-Mendelsohn decomposition). There
every column finds a partner in every largest matching, elsewhere every row does: two smaller problems for SciPy.

Source: Dulmage & Mendelsohn, Coverings of Bipartite Graphs, 1958; Jonker & Volgenant, Computing 38, 1987.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Graph: TypeAlias = Any
"""scipy.sparse.csr_array (rows, columns) of positive costs; what is not stored cannot be matched."""

Pairs: TypeAlias = tuple[NDArray[np.intp], NDArray[np.intp]]


def best_matching(graph: Graph) -> Pairs:
    """Return the rows and columns of a matching with the most pairs, and the least total cost among those.

    Exact as long as sums of costs are exact in float64, as those of whole numbers are. Deterministic; which of several
    equally good ones it is, the order of rows and columns decides.

    Args:
        graph: every row and column has at least one stored cost, all are above 0.
    """
    mates = _any_largest(graph)
    competing = _competing(graph, mates)
    wanted = np.zeros(graph.shape[1], dtype=np.bool_)
    wanted[mates[competing & (mates >= 0)]] = True
    rows, columns = _full_matching(graph, ~competing, ~wanted, mates)
    partners = np.full(graph.shape[1], -1)
    partners[mates[mates >= 0]] = np.flatnonzero(mates >= 0)
    more_columns, more_rows = _full_matching(graph.T.tocsr(), wanted, competing, partners)
    return np.concatenate((rows, more_rows)), np.concatenate((columns, more_columns))


def _any_largest(graph: Graph) -> NDArray[np.intp]:
    """Return the column of each row in some largest matching, -1 for none.

    Each row gets a column of its own for staying alone, at a price that no saving elsewhere makes up for.
    """
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import min_weight_full_bipartite_matching

    rows, columns = graph.shape
    alone = graph.indptr[1:] + np.arange(rows)
    is_pair = np.ones(graph.nnz + rows, dtype=np.bool_)
    is_pair[alone] = False
    indices = np.empty(len(is_pair), dtype=np.int32)
    indices[is_pair], indices[alone] = graph.indices, columns + np.arange(rows)
    prices = np.where(is_pair, 1.0, 2.0)
    ends = graph.indptr + np.arange(rows + 1, dtype=np.int32)
    mates = min_weight_full_bipartite_matching(
        csr_array((prices, indices, ends), shape=(rows, columns + rows))
    )[1]
    return np.where(mates < columns, mates, -1)


def _competing(graph: Graph, mates: NDArray[np.intp]) -> NDArray[np.bool_]:
    """Return which rows some largest matching leaves alone: those that an alternating path joins to a lonely row."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import breadth_first_order

    rows, columns = graph.shape
    lonely = np.flatnonzero(mates < 0)
    owner = np.empty(columns, dtype=np.int32)
    owner[mates[mates >= 0]] = np.flatnonzero(mates >= 0)
    is_taken = np.zeros(columns, dtype=np.bool_)
    is_taken[mates[mates >= 0]] = True
    # From a row to the owners of its columns; free columns have none, and lead back to the start. The start is one
    # more row, from which the lonely ones are reached.
    steps = np.where(is_taken, owner, rows)[graph.indices]
    indices = np.concatenate((steps, lonely)).astype(np.int32)
    ends = np.append(graph.indptr, graph.nnz + len(lonely)).astype(np.int32)
    walk = csr_array((np.ones(len(indices), np.int8), indices, ends), shape=(rows + 1, rows + 1))
    reached = np.zeros(rows + 1, dtype=np.bool_)
    reached[breadth_first_order(walk, rows, return_predecessors=False)] = True
    return reached[:rows]


def _full_matching(
    graph: Graph, rows: NDArray[np.bool_], columns: NDArray[np.bool_], mates: NDArray[np.intp]
) -> Pairs:
    """Return the cheapest matching of all these rows with these columns; `mates` is one that works."""
    from scipy.sparse.csgraph import min_weight_full_bipartite_matching

    row_numbers = np.flatnonzero(rows)
    column_numbers = np.flatnonzero(columns)
    if not len(row_numbers):
        return row_numbers, row_numbers
    part = graph[row_numbers][:, column_numbers]
    place = np.cumsum(columns) - 1
    # SciPy asks first whether a matching exists, which can take seconds. With a partner that works in front, it finds
    # one at once.
    at = np.flatnonzero(part.indices == np.repeat(place[mates[row_numbers]], np.diff(part.indptr)))
    front = part.indptr[:-1]
    for values in (part.indices, part.data):
        values[at], values[front] = values[front], values[at]
    first, second = min_weight_full_bipartite_matching(part)
    return row_numbers[first], column_numbers[second]
