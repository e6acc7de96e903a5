"""Maximum-cardinality matching of minimum cost in a sparse bipartite graph.

SciPy solves only problems in which every row can be matched, and its running time grows with rows
times columns. Therefore an arbitrary maximum matching is computed first. It identifies the rows
that compete for too few columns (the Dulmage-Mendelsohn decomposition). In this part of the graph
every maximum matching matches all columns; in the rest, every maximum matching matches all rows.
This leaves two smaller problems that SciPy can solve.

Source: Dulmage & Mendelsohn, Coverings of Bipartite Graphs, 1958; Jonker & Volgenant, Computing 38,
1987.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Graph: TypeAlias = Any
"""scipy.sparse.csr_array (rows, columns) of positive costs; absent entries cannot be matched."""

Pairs: TypeAlias = tuple[NDArray[np.intp], NDArray[np.intp]]


def best_matching(graph: Graph) -> Pairs:
    """Return the rows and columns of a maximum-cardinality matching with the lowest total cost.

    The result is optimal as long as sums of costs are exact in float64, as they are for integers.
    It is deterministic: the order of rows and columns decides between equally good matchings.

    Args:
        graph: costs above 0; every row and column has at least one stored cost.
    """
    mates = _maximum_matching(graph)
    is_matched = mates >= 0
    competes = _competing_rows(graph, mates)
    is_contested = np.zeros(graph.shape[1], dtype=np.bool_)
    is_contested[mates[competes & is_matched]] = True
    rows, columns = _full_matching(graph, ~competes, ~is_contested, mates)
    partners = np.full(graph.shape[1], -1)
    partners[mates[is_matched]] = np.flatnonzero(is_matched)
    more_columns, more_rows = _full_matching(graph.T.tocsr(), is_contested, competes, partners)
    return np.concatenate((rows, more_rows)), np.concatenate((columns, more_columns))


def _maximum_matching(graph: Graph) -> NDArray[np.intp]:
    """Return the column of each row in an arbitrary maximum matching, -1 for unmatched rows.

    Each row gets an extra column that stands for staying unmatched, at twice the cost of a pair.
    """
    # SciPy is slow to import, and most commands do not need it.
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import min_weight_full_bipartite_matching

    rows, columns = graph.shape
    alone = graph.indptr[1:] + np.arange(rows)
    is_pair = np.ones(graph.nnz + rows, dtype=np.bool_)
    is_pair[alone] = False
    indices = np.empty(len(is_pair), dtype=np.int32)
    indices[is_pair] = graph.indices
    indices[alone] = columns + np.arange(rows)
    prices = np.where(is_pair, 1.0, 2.0)
    ends = graph.indptr + np.arange(rows + 1, dtype=np.int32)
    extended = csr_array((prices, indices, ends), shape=(rows, columns + rows))
    mates = min_weight_full_bipartite_matching(extended)[1]
    return np.where(mates < columns, mates, -1)


def _competing_rows(graph: Graph, mates: NDArray[np.intp]) -> NDArray[np.bool_]:
    """Return which rows are unmatched in at least one maximum matching.

    These are the rows that an alternating path connects to an unmatched row.
    """
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import breadth_first_order

    rows, columns = graph.shape
    is_matched = mates >= 0
    unmatched = np.flatnonzero(~is_matched)
    owner = np.empty(columns, dtype=np.int32)
    owner[mates[is_matched]] = np.flatnonzero(is_matched)
    is_taken = np.zeros(columns, dtype=np.bool_)
    is_taken[mates[is_matched]] = True
    # The graph of this search leads from a row to the rows matched to its columns. Free columns
    # lead back to an extra start row, from which the search reaches the unmatched rows.
    steps = np.where(is_taken, owner, rows)[graph.indices]
    indices = np.concatenate((steps, unmatched)).astype(np.int32)
    ends = np.append(graph.indptr, graph.nnz + len(unmatched)).astype(np.int32)
    weights = np.ones(len(indices), np.int8)
    walk = csr_array((weights, indices, ends), shape=(rows + 1, rows + 1))
    reached = breadth_first_order(walk, rows, return_predecessors=False)
    is_reached = np.zeros(rows + 1, dtype=np.bool_)
    is_reached[reached] = True
    return is_reached[:rows]


def _full_matching(
    graph: Graph,
    rows: NDArray[np.bool_],
    columns: NDArray[np.bool_],
    mates: NDArray[np.intp],
) -> Pairs:
    """Return the cheapest matching of all given rows to given columns; `mates` is a feasible matching."""
    from scipy.sparse.csgraph import min_weight_full_bipartite_matching

    row_numbers = np.flatnonzero(rows)
    column_numbers = np.flatnonzero(columns)
    if not len(row_numbers):
        return row_numbers, row_numbers
    part = graph[row_numbers][:, column_numbers]
    part_column = np.cumsum(columns) - 1
    # SciPy first tests whether a full matching exists, which can take seconds. If the feasible
    # partner comes first in each row, the test succeeds at once.
    feasible = np.repeat(part_column[mates[row_numbers]], np.diff(part.indptr))
    feasible_entries = np.flatnonzero(part.indices == feasible)
    first_entries = part.indptr[:-1]
    for values in (part.indices, part.data):
        moved = values[first_entries]
        values[first_entries] = values[feasible_entries]
        values[feasible_entries] = moved
    first, second = min_weight_full_bipartite_matching(part)
    return row_numbers[first], column_numbers[second]
