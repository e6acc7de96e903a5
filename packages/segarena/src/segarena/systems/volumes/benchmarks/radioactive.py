"""RadioActive: how well do 2D and 3D models segment radiology volumes, for how much human effort?

A few prompts that a clinician could give, spread over the slices by a lift where the model sees only images, then
corrections. Several prompting schemes are users of one run, so that each volume is read and encoded once for all.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

from segarena.errors import InvalidInput
from segarena.options import Protocol
from segarena.registry import benchmark
from segarena.roles import Benchmark, Statistic
from segarena.specs import PluginSpec
from segarena.systems.volumes.prompting.schemes import find_scheme
from segarena.systems.volumes.users.volume_user import Refinement

DEFAULT_SCHEMES = ("1-pps", "5p-inter", "3b-inter", "box-ps", "3d-box-slices")
"""One of each kind of effort, from a few interactions to several per slice."""

CORRECTION_ROUNDS = 5
"""Rounds of corrections after the first prompts, as published."""


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
    """Judge volume segmenters by Dice and NSD against what the prompts cost.

    Each combination of the first four options is a user; see `user_name` for what records call it.

    Args:
        prompts: one or several schemes of first prompts, see `docs/users.md`.
        refine: how errors are corrected in five further rounds, one or several ways: "none", "scribble", "1pps",
            "1ppv", "lasso", "largest-error", "scribble-point".
        keeps_prompts: with corrections, slices with new prompts are predicted from all their prompts so far, not from
            the new ones alone; `(True, False)` does both.
        edge_noise_px: the edges of first boxes are moved by up to so many pixels; `(0, 3, 5)` gives Table 9. A scheme
            without boxes is one user whatever this says.
        rounds: the most rounds; by default 1 without corrections and 6 with them.
        tolerance_mm: of NSD.
        protocol: "careful", or "published" for everything that the published code does otherwise.

    Source: Isensee et al., RadioActive, arXiv 2411.07885; `docs/benchmarks.md` names the differences.
    """
    schemes = (prompts,) if isinstance(prompts, str) else tuple(prompts)
    ways = (refine,) if isinstance(refine, str) else tuple(refine)
    keeping = (keeps_prompts,) if isinstance(keeps_prompts, bool) else tuple(keeps_prompts)
    noises = (edge_noise_px,) if isinstance(edge_noise_px, int) else tuple(edge_noise_px)
    if not (schemes and ways and keeping and noises):
        raise InvalidInput(
            "prompts: name at least one scheme, such as '3b-inter'; and one of each further option"
        )
    rounds = rounds or (1 if set(ways) == {"none"} else 1 + CORRECTION_ROUNDS)
    users: dict[str, PluginSpec] = {}
    for scheme, most_px, way, keeps in product(schemes, noises, ways, keeping):
        noise = most_px if "box" in find_scheme(scheme)[0].kinds else 0
        options = {
            "refine": way,
            "keeps_prompts": keeps,
            "edge_noise_px": noise,
            "protocol": protocol,
        }
        name = user_name(scheme, refine=way, keeps_prompts=keeps, edge_noise_px=noise)
        users.setdefault(name, PluginSpec("volume", {"prompts": scheme, **options}, name))
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
    scheme: str, *, refine: str = "none", keeps_prompts: bool = True, edge_noise_px: int = 0
) -> str:
    """Return what records call a user: "3b-inter", "3b-inter+-5px", "3b-inter.scribble", "3b-inter.scribble-alone".

    "alone": slices are predicted from new prompts alone; the published tables have no "*" there.
    """
    noise = f"+-{edge_noise_px}px" if edge_noise_px else ""
    if refine == "none":
        corrections = ""
    else:
        corrections = f".{refine}{'' if keeps_prompts else '-alone'}"
    return f"{scheme.replace('±', '+-')}{noise}{corrections}"


def _summary(rounds: int) -> tuple[Statistic, ...]:
    first = (
        Statistic(name="Dice@1", kind="at_round", metric="dice", round=1),
        Statistic(name="NSD@1", kind="at_round", metric="nsd", round=1),
    )
    if rounds == 1:
        return first
    return (
        *first,
        Statistic(name=f"Dice@{rounds}", kind="at_round", metric="dice", round=rounds),
        Statistic(name=f"NSD@{rounds}", kind="at_round", metric="nsd", round=rounds),
        Statistic(name="AuC", kind="auc", metric="dice"),
        Statistic(name="NoC@90", kind="noc", metric="dice", threshold=0.9, higher_is_better=False),
    )
