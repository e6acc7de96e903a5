"""Write README.md here and in each adapter's folder, from the adapter.toml files: python adapters/pages.py."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
START = "<!-- table -->\n"
END = "<!-- end of table -->"
ORDER = ("clicks", "volumes", "videos", "one example")
REQUIRED = (
    "title",
    "judges",
    "repository",
    "commit",
    "committed",
    "licence",
    "weights",
    "tables",
    "about",
)
RAN = (
    "on",
    "segarena",
    "python",
    "torch",
    "lock",
    "machine",
    "weights",
    "command",
    "dialogues",
    "seconds",
    "checkpoint",
)
FAILED = ("on", "tried", "error")


def read_adapters(folder: Path = HERE) -> dict[str, dict[str, Any]]:
    """Return the contents of each adapter.toml by folder name, in the order of the table."""
    found = {
        path.parent.name: tomllib.loads(path.read_text("utf-8"))
        for path in folder.glob("*/adapter.toml")
    }
    return dict(
        sorted(
            found.items(),
            key=lambda item: (ORDER.index(item[1]["judges"]), "ran" not in item[1], item[0]),
        )
    )


def table(adapters: dict[str, dict[str, Any]]) -> str:
    """Return the table of all adapters as Markdown."""
    lines = [
        "| model | evaluated on | published figures | environment | test run |",
        "| --- | --- | --- | --- | --- |",
    ]
    for name, facts in adapters.items():
        environment = ""
        outcome = "no"
        if ran := facts.get("ran"):
            environment = f"Python {ran['python']}, torch {ran['torch']}"
            outcome = f"{ran['on']}, {ran['weights']}: {counted(ran)}"
        cells = [
            f"[{facts['title']}]({name}/README.md)",
            facts["judges"],
            figures(facts),
            environment,
            outcome,
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def counted(ran: dict[str, Any]) -> str:
    """Return the number of dialogues and the duration of a test run."""
    return f"{ran['dialogues']} dialogue{'s' if ran['dialogues'] > 1 else ''} in {ran['seconds']} s"


def figures(facts: dict[str, Any]) -> str:
    """Return the names of the published tables that contain the model."""
    return ", ".join(f"`{name}`" for name in facts["tables"]) or "none of the five papers"


def page(name: str, facts: dict[str, Any]) -> str:
    """Return the page of one adapter as Markdown."""
    about = [
        (
            "code",
            f"[{facts['repository'].removeprefix('https://github.com/')}]({facts['repository']})",
        ),
        ("commit", f"`{facts['commit']}` of {facts['committed']}"),
        ("licence of the code", facts["licence"]),
        ("weights", facts["weights"]),
        ("published figures", figures(facts)),
    ]
    rows = "".join(f"| {key} | {value} |\n" for key, value in about)
    parts = [f"# {facts['title']}", facts["about"].strip(), f"| | |\n| --- | --- |\n{rows}".strip()]
    parts += did_not_run(facts["failed"]) if "failed" in facts else did_run(name, facts)
    return "\n\n".join(parts) + "\n"


def did_not_run(failed: dict[str, Any]) -> list[str]:
    """Return the paragraphs on a failed test run."""
    return [
        "## Failed test run",
        f"{failed['on']}: {failed['tried'].strip()}",
        f"```text\n{failed['error'].strip()}\n```",
    ]


def did_run(name: str, facts: dict[str, Any]) -> list[str]:
    """Return the paragraphs on a test run and the commands that repeat it."""
    ran = facts["ran"]
    checkout = f"adapters/{name}/{facts['repository'].rpartition('/')[2]}"
    version = ".".join(ran["python"].split(".")[:2])
    setup = [
        f"python{version} -m venv envs/{name}",
        f"envs/{name}/bin/python -m pip install -r adapters/environments/{ran['lock']}",
        f"git clone {facts['repository']} {checkout}",
        f"git -C {checkout} checkout {facts['commit'][:10]}",
        f"segarena worker new adapter --folder adapters/{name}  # keeps the adapter, adds segarena_worker.py",
    ]
    return [
        "## Test run",
        f"{ran['on']}, segarena at `{ran['segarena']}`, Python {ran['python']}, torch {ran['torch']}, "
        f"{ran['machine']}, {ran['weights']}: {counted(ran)}, none failed.",
        "```console\n" + "\n".join([*setup, ran["command"].strip()]) + "\n```",
        f"Checkpoints: {ran['checkpoint'].strip()}",
    ]


def written(folder: Path = HERE) -> dict[Path, str]:
    """Return the generated text of each page."""
    adapters = read_adapters(folder)
    front = (folder / "README.md").read_text("utf-8")
    before, _, rest = front.partition(START)
    pages = {folder / "README.md": before + START + table(adapters) + END + rest.partition(END)[2]}
    return pages | {
        folder / name / "README.md": page(name, facts) for name, facts in adapters.items()
    }


if __name__ == "__main__":
    for path, text in written().items():
        path.write_text(text, "utf-8")
