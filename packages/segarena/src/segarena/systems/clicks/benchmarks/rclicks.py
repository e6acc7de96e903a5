"""RClicks: how strongly the result depends on where people click.

This is the click benchmark with many users: the standard user, which clicks the centre of the
error; ten clicking groups, from unlikely to likely clicks; and, if a clicks table is given, the
first clicks of real people and an equal number of clicks sampled from the click model.
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
    """Run the `clicks` evaluation for the base user and for each clicking group.

    Records name the users "centre", "G1" (least likely clicks) to "G10" (most likely clicks),
    "real" and "sampled". The benchmark's options name them by their role: `base`, `groups` (each
    with `low` and `high`), `real`, `sampled`.

    Args:
        click_model: the click model to sample from, in plug-in notation: `depth`,
            `network(path='weights.pt')`, ...
        clicks: path of a clicks table. It adds two users, for real and for sampled first clicks;
            their dialogues have one round.
        clicks_dataset: use only the table rows of this dataset; by default all rows.
        groups: number of clicking groups of equal probability mass; must be even, because AHH
            compares two halves.
        rounds: the maximum number of clicks per dialogue.
        protocol: "careful" or "published". "published" keeps clicking (0, 0) after a perfect mask,
            assigns whole pixels to groups, counts a target that needs the last click as failed,
            computes AHH group by group, and does not scale real clicks with the image.

    Source: RClicks (NeurIPS 2024), sections 3 to 5; `docs/benchmarks.md` lists every difference
    from the published code.
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
    # Stored as None rather than omitted, so that the run's options show that no user has this role.
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
    """Return the hash of an input file, which shows whether two runs used the same contents."""
    if file is None:
        return None
    if not file.is_file():
        raise InvalidInput(f"{file}: expected an existing file, found none")
    return sha256_of_file(file)
