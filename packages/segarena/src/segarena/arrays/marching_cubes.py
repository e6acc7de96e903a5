"""Marching-cubes surface in the cube between the centres of eight voxels.

Source: Lorensen and Cline, "Marching cubes", 1987, with the triangles of scikit-image's
`marching_cubes` (`method="lorensen"`) and of DeepMind's surface-distance. The table is here because
importing scikit-image takes half a second, and because its `marching_cubes` calls functions that
NumPy 2.5 deprecates.
"""

from __future__ import annotations

from typing import TypeAlias

Triangle: TypeAlias = tuple[int, int, int]

# Each line lists triangles, then the patterns that consist of them. A triangle is written as the
# absolute values of its normal along the three axes, one digit each, in eighths of a face of the
# cube. A pattern is hexadecimal: bit b is the b-th voxel, in row-major order. A pattern of five or
# more voxels has the triangles of its complement. Triangles are in the order of scikit-image, so
# that sums of areas equal its sums to the last digit.
_TRIANGLES = """
111: 01 02 04 08 10 20 40 80
220 220: 03 0c 30 c0
202 202: 05 0a 50 a0
111 111: 06 09 12 14 18 21 24 28 41 42 48 60 81 82 84 90
400 400: 0f f0
022 022: 11 22 44 88
040 040: 33 cc
004 004: 55 aa
111 222 400: 07 0b 0d 0e 70 b0 d0 e0
111 222 040: 13 23 31 32 4c 8c c4 c8
111 222 004: 15 2a 45 51 54 8a a2 a8
111 111 111: 16 29 49 61 68 86 92 94
022 022 111: 19 26 46 62 64 89 91 98
202 202 111: 1a 25 4a 52 58 85 a1 a4
220 220 111: 1c 2c 34 38 43 83 c1 c2
111 222 222 111: 17 2b 4d 71 8e b2 d4 e8
202 333 022 111: 1b 72 8d e4
220 333 022 111: 1d 74 8b e2
111 222 400 111: 1e 78 b4 d2
022 333 202 111: 27 4e b1 d8
111 111 222 400: 2d 4b 87 e1
022 333 220 111: 2e 47 b8 d1
220 333 202 111: 35 5c a3 ca
111 111 222 040: 36 39 63 6c
202 333 220 111: 3a 53 ac c5
220 220 220 220: 3c c3
111 222 004 111: 56 65 95 a6
111 111 222 004: 59 6a 9a a9
202 202 202 202: 5a a5
022 022 022 022: 66 99
111 111 111 111: 69 96
111 222 040 111: 93 9c c6 c9
"""


def cube_triangles() -> dict[int, list[Triangle]]:
    """Return the triangles of each pattern of one to four voxels inside the surface.

    >>> cube_triangles()[0b00000111]
    [(1, 1, 1), (2, 2, 2), (4, 0, 0)]

    Returns:
        162 lists of up to four triangles, by pattern code. A triangle is the absolute value of its
        normal along the three axes, in eighths; the length of a normal is the triangle's area.
    """
    triangles: dict[int, list[Triangle]] = {}
    for line in _TRIANGLES.strip().splitlines():
        normals, codes = line.split(":")
        shared: list[Triangle] = []
        for normal in normals.split():
            first, second, third = map(int, normal)
            shared.append((first, second, third))
        for code in codes.split():
            triangles[int(code, 16)] = shared
    return triangles
