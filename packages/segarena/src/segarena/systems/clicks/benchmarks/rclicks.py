"""RClicks: dependence of the result on where people click.

This is the click benchmark with many users: the standard one, which clicks the centre; ten clicking
groups, from unlikely to likely clicks; and, with a clicks table, the first clicks of real people
and as many sampled from the click model.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from segarena.errors import InvalidInput
from segarena.files.hashes import sha256_of_file
from segarena.options import Protocol
from segarena.plugin_spec import PluginSpec
from segarena.registry import benchmark
from segarena.roles import Benchmark
from segarena.systems.clicks.benchmarks.clicks import click_benchmark
from segarena.systems.clicks.models.click_models import weights_file


@benchmark("rclicks")
def rclicks(
    *,
    click_model: str = "depth",
    clicks: str | None = None,
    clicks_dataset: str | None = None,
    groups: int = 10,
    rounds: int = 20,
    protocol: Protocol = "careful",
) -> Benchmark:
    """Evaluate as `clicks` does, for the base user and for each clicking group.

    Records call the users "centre", "G1" (least likely clicks) to "G10" (most likely), "real" and
    "sampled"; the benchmark's options name them by their role: `base`, `groups` (each with `low`
    and `high`), `real`, `sampled`.

    Args:
        click_model: where people click, as written: `depth`, `network(path='weights.pt')`, ...
        clicks: path of a clicks table, which adds users for real and sampled first clicks, with one
            round each.
        clicks_dataset: only rows of this dataset of the table; by default all.
        groups: number of clicking groups of equal mass; even, so that they can be halved.
        rounds: the maximum number of clicks per dialogue.
        protocol: "careful" or "published": clicks at (0, 0) after perfection, whole pixels in
            groups, a target that needs the last click has failed, AHH group by group, real clicks
            not scaled with the image.

    Source: RClicks (NeurIPS 2024), sections 3 to 5; `docs/benchmarks.md` names every difference to
    the published code.
    """
    if groups < 2 or groups % 2:
        raise InvalidInput(f"groups: expected an even number of at least 2, got {groups}")
    is_published = protocol == "published"
    rules = click_benchmark(rounds=rounds, protocol=protocol)
    published: dict[str, object] = {}
    if is_published:
        published = {"groups": "published", "when_solved": "published"}
    users = {"centre": rules.users[0]}
    group_options: list[dict[str, object]] = []
    for group in range(groups):
        name = f"G{group + 1}"
        low = group / groups
        high = (group + 1) / groups
        options = {"click_model": click_model, "low": low, "high": high, **published}
        users[name] = PluginSpec("group", options)
        group_options.append({"user": name, "low": low, "high": high})
    # Stored as None rather than omitted, so that a run's options state that no user has this role.
    real = None
    sampled = None
    clicks_file = None
    if clicks is not None:
        real = "real"
        sampled = "sampled"
        clicks_file = Path(clicks)
        real_options: dict[str, object] = {"clicks": clicks, "dataset": clicks_dataset}
        sampled_options = {**real_options, "click_model": click_model}
        if is_published:
            real_options["other_size"] = "published"
        users[real] = PluginSpec("real-first", real_options)
        users[sampled] = PluginSpec("sampled-first", sampled_options)
    model_sha256 = _sha256(weights_file(click_model))
    return Benchmark(
        name="rclicks",
        users=tuple(replace(spec, own_name=name) for name, spec in users.items()),
        metrics=rules.metrics,
        rounds=rounds,
        protocol=protocol,
        paper="RClicks: Realistic Click Simulation for Benchmarking Interactive Segmentation, NeurIPS 2024",
        options={
            **rules.options,
            "base": "centre",
            "groups": group_options,
            "real": real,
            "sampled": sampled,
            "click_model": {"written": click_model, "sha256": model_sha256},
            "clicks": {"dataset": clicks_dataset, "sha256": _sha256(clicks_file)},
        },
        summary=rules.summary,
    )


def _sha256(file: Path | None) -> str | None:
    """Return the hash of an input file; it distinguishes runs after a file was replaced."""
    if file is None:
        return None
    if not file.is_file():
        raise InvalidInput(f"there is no file {file}")
    return sha256_of_file(file)
