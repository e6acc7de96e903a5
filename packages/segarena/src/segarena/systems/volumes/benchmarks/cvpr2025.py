"""Benchmark of the CVPR 2025 challenge "Foundation models for interactive 3D biomedical image segmentation"."""

from __future__ import annotations

from segarena.benchmark_rules import Statistic
from segarena.plugin_spec import PluginSpec
from segarena.registry import benchmark
from segarena.roles import Benchmark
from segarena.systems.volumes.users.challenge_users import MiddleSlice

CLICKS = 5
TOLERANCE_MM = 2.0


@benchmark("cvpr2025")
def cvpr2025(
    *,
    box: bool = True,
    most_px: int = 5,
    middle: MiddleSlice = "slice",
) -> Benchmark:
    """Evaluate as in the challenge: a box on the middle slice with slice limits, then five clicks.

    Classes that are segmented perfectly get no further click and keep their value. The challenge's
    own scores are computed per case, not per class. The report shows them in its first section: see
    `segarena.systems.volumes.measures.cvpr2025_scores`.

    Args:
        box: False for data whose cases have no box: there are only the five clicks, and step 0
            scores 0.
        most_px: the maximum enlargement of the box in pixels, for an image of side 256.
        middle: how the slice with the box is chosen: "slice" takes the middle foreground slice,
            "voxel" the slice of the middle foreground voxel, as in an earlier version of the
            script.

    Source: the challenge's evaluation script of June 2025; `docs/benchmarks.md` lists the
    differences.
    """
    rounds = CLICKS + 1 if box else CLICKS
    user = PluginSpec("cvpr2025", {"box": box, "most_px": most_px, "middle": middle}, "cvpr2025")
    return Benchmark(
        name="cvpr2025",
        users=(user,),
        metrics=(PluginSpec("dice"), PluginSpec("nsd", {"tolerance_mm": TOLERANCE_MM})),
        rounds=rounds,
        summary=(
            Statistic(name="DSC AUC", kind="auc_last_five", metric="dice"),
            Statistic(name="NSD AUC", kind="auc_last_five", metric="nsd"),
            Statistic(
                name="DSC final",
                kind="at_round",
                metric="dice",
                round=rounds,
            ),
            Statistic(
                name="NSD final",
                kind="at_round",
                metric="nsd",
                round=rounds,
            ),
        ),
        dataset=PluginSpec("phantom"),
        protocol="published",
        paper="CVPR 2025: Foundation Models for Interactive 3D Biomedical Image Segmentation",
        options={"steps": CLICKS + 1, "box": box},
        sample_kind="volume",
        adapter=PluginSpec("slices"),
    )
