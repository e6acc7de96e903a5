"""RadioActive: quality of 2D and 3D models on radiology volumes, against the user effort of the prompts.

A dialogue begins with a few prompts that a clinician could give and continues with corrections. For
models of images, a lift spreads the first prompts over the slices. Several prompting schemes run as
users of one run, so that each volume is read and encoded only once.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

from segarena.benchmark_rules import Statistic
from segarena.errors import InvalidInput
from segarena.options import Protocol
from segarena.plugin_spec import PluginSpec
from segarena.registry import benchmark
from segarena.roles import Benchmark
from segarena.systems.volumes.prompting.schemes import find_scheme
from segarena.systems.volumes.users.volume_user import Refinement

DEFAULT_SCHEMES = ("1-pps", "5p-inter", "3b-inter", "box-ps", "3d-box-slices")
"""One scheme for each level of effort, from a few interactions per volume to several per slice."""

CORRECTION_ROUNDS = 5
"""Number of correction rounds after the first prompts, as published."""


@benchmark("radioactive")
def radioactive(
    *,
    prompts: str | Sequence[str] = DEFAULT_SCHEMES,
    refine: Refinement | Sequence[Refinement] = "none",
    keeps_prompts: bool | Sequence[bool] = True,
    edge_noise_px: int | Sequence[int] = 0,
    rounds: int | None = None,
    tolerance_mm: float = 2.0,
    protocol: Protocol = "careful",
) -> Benchmark:
    """Evaluate volume segmenters by Dice and NSD against the cost of the prompts.

    Each combination of the first four options is one user; `user_name` gives its name in records.

    Args:
        prompts: one or several schemes of first prompts, see `docs/users.md`.
        refine: one or several ways to correct errors in five further rounds: "none", "scribble",
            "1pps", "1ppv", "lasso", "largest-error", "scribble-point".
        keeps_prompts: True predicts a corrected slice from all its prompts so far, False from its
            new prompts alone; `(True, False)` evaluates both.
        edge_noise_px: maximum random shift of each edge of the first boxes, in pixels; `(0, 3, 5)`
            gives Table 9. For a scheme without boxes, all values give the same user.
        rounds: maximum number of rounds; by default 1 without corrections and 6 with them.
        tolerance_mm: tolerance of NSD in mm.
        protocol: "careful", or "published" for all deviations of the published code.

    Source: Ulrich, Wald, Tempus et al., RadioActive, arXiv 2411.07885; `docs/benchmarks.md` lists
    the differences.
    """
    schemes = (prompts,) if isinstance(prompts, str) else tuple(prompts)
    refinements = (refine,) if isinstance(refine, str) else tuple(refine)
    keeping = (keeps_prompts,) if isinstance(keeps_prompts, bool) else tuple(keeps_prompts)
    noises = (edge_noise_px,) if isinstance(edge_noise_px, int) else tuple(edge_noise_px)
    if not (schemes and refinements and keeping and noises):
        raise InvalidInput(
            "prompts: expected at least one scheme, such as '3b-inter', and at least one value of every other option"
        )
    if not rounds:
        has_corrections = set(refinements) != {"none"}
        rounds = 1 + CORRECTION_ROUNDS if has_corrections else 1
    users: dict[str, PluginSpec] = {}
    for scheme, most_px, refinement, keeps in product(schemes, noises, refinements, keeping):
        has_boxes = "box" in find_scheme(scheme)[0].kinds
        noise = most_px if has_boxes else 0
        name = user_name(scheme, refine=refinement, keeps_prompts=keeps, edge_noise_px=noise)
        options = {
            "prompts": scheme,
            "refine": refinement,
            "keeps_prompts": keeps,
            "edge_noise_px": noise,
            "protocol": protocol,
        }
        users.setdefault(name, PluginSpec("volume", options, name))
    return Benchmark(
        name="radioactive",
        users=tuple(users.values()),
        metrics=(PluginSpec("dice"), PluginSpec("nsd", {"tolerance_mm": tolerance_mm})),
        rounds=rounds,
        stop_at=("dice", 1.0),
        dataset=PluginSpec("phantom"),
        protocol=protocol,
        paper="RadioActive: 3D Radiological Interactive Segmentation Benchmark, arXiv 2411.07885",
        options={"tolerance_mm": tolerance_mm},
        summary=_summary(rounds),
        sample_kind="volume",
        adapter=PluginSpec("slices", {"protocol": protocol}),
    )


def user_name(
    scheme: str,
    *,
    refine: str = "none",
    keeps_prompts: bool = True,
    edge_noise_px: int = 0,
) -> str:
    """Return a user's name in records: "3b-inter", "3b-inter+-5px", "3b-inter.scribble", "3b-inter.scribble-alone".

    The suffix "alone" means that slices are predicted from new prompts alone; the published tables
    mark the opposite case with "*".
    """
    name = scheme.replace("±", "+-")
    if edge_noise_px:
        name += f"+-{edge_noise_px}px"
    if refine != "none":
        name += f".{refine}"
        if not keeps_prompts:
            name += "-alone"
    return name


def _summary(rounds: int) -> tuple[Statistic, ...]:
    first = (
        Statistic(
            name="Dice@1",
            kind="at_round",
            metric="dice",
            round=1,
        ),
        Statistic(
            name="NSD@1",
            kind="at_round",
            metric="nsd",
            round=1,
        ),
    )
    if rounds == 1:
        return first
    return (
        *first,
        Statistic(
            name=f"Dice@{rounds}",
            kind="at_round",
            metric="dice",
            round=rounds,
        ),
        Statistic(
            name=f"NSD@{rounds}",
            kind="at_round",
            metric="nsd",
            round=rounds,
        ),
        Statistic(name="AuC", kind="auc", metric="dice"),
        Statistic(
            name="NoC@90",
            kind="noc",
            metric="dice",
            threshold=0.9,
            higher_is_better=False,
        ),
    )
