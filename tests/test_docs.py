"""The documentation and the code agree: what the documentation names exists, and what exists is documented."""

import csv
import importlib.util
import inspect
import os
import re
import shlex
import subprocess
import sys
import tomllib
from collections import Counter
from functools import cache
from pathlib import Path

import pytest
from typer.main import get_command

from segarena.cli.lazy_commands import load_command
from segarena.records.configuration import plain_configuration
from segarena.records.parquet_tables import COLUMNS
from segarena.registry import plugin_kinds, plugins_by_name

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
TEXTS = [
    *PAGES,
    *(ROOT / name for name in ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md")),
]
BUILT_IN = [
    (kind, name, factory)
    for kind in plugin_kinds()
    for name, factory in plugins_by_name(kind).items()
    if factory.__module__.startswith("segarena.")
]
_spec = importlib.util.spec_from_file_location("reference", DOCS / "reference.py")
reference = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(reference)
RUNNABLE = ("README.md", "docs/quickstart.md", "docs/concepts.md", "docs/metrics.md")


def page_of(kind):
    return (DOCS / f"{kind}s.md").read_text(encoding="utf-8")


def blocks(path, *languages):
    """Return the texts of the fenced blocks in one of these languages."""
    text = path.read_text(encoding="utf-8")
    return [
        code
        for language, code in re.findall(r"^```(\w+)[^\n]*\n(.*?)^```", text, re.M | re.S)
        if language in languages
    ]


def anchors(path):
    headings = re.findall(
        r"^#+ (.+)$",
        re.sub(r"^```.*?^```", "", path.read_text(encoding="utf-8"), flags=re.M | re.S),
        re.M,
    )
    return {
        re.sub(r"[\s]+", "-", re.sub(r"[^\w\s-]", "", heading.lower()).strip())
        for heading in headings
    }


def options_of_benchmark(command, arguments):
    """Return the additional options of `run` and `plan` when a benchmark is named."""
    benchmark = (
        plugins_by_name("benchmark").get(arguments[1]) if command in ("run", "plan") else None
    )
    declared = [] if benchmark is None else inspect.signature(benchmark).parameters
    return {f"--{name.replace('_', '-')}" for name in declared}


@cache
def commands():
    """Return every command with its options, e.g. {"data check": {...}}."""
    found = {}

    def collect(path, command):
        found[path] = {
            option
            for parameter in command.params
            for option in (*parameter.opts, *parameter.secondary_opts)
        }
        if hasattr(command, "list_commands"):
            for name in command.list_commands(None):
                inner = load_command(command.get_command(None, name))
                collect(f"{path} {name}".strip(), inner)

    collect("", get_command(reference.own_commands()))
    return found


def test_every_plugin_has_its_place_in_the_page_of_its_kind():
    headings = {
        kind: "\n".join(re.findall(r"^## .*", page_of(kind), re.M)) for kind in plugin_kinds()
    }
    missing = [
        (kind, name)
        for kind, name, _ in BUILT_IN
        if not re.search(rf"\b{re.escape(name)}\b", headings[kind])
    ]
    assert missing == []


def test_every_plugin_with_options_has_them_in_the_page_of_its_kind():
    for kind in plugin_kinds():
        shown = [
            name
            for block in reference.OPTIONS.finditer(page_of(kind))
            for name in block["names"].split(", ")
        ]
        with_options = [
            name
            for of, name, factory in BUILT_IN
            if of == kind and inspect.signature(factory).parameters
        ]
        assert sorted(shown) == with_options, (
            f"{kind}s.md: <!-- options of {kind} NAME --> <!-- end of options -->"
        )


def test_every_metric_column_is_described():
    columns = [
        column for kind, _, factory in BUILT_IN if kind == "metric" for column in factory.columns
    ]
    assert [column for column in columns if f"`{column}`" not in page_of("metric")] == []


@pytest.mark.parametrize("table", COLUMNS)
def test_every_column_of_a_run_is_described(table):
    section = (
        (DOCS / "runs.md").read_text(encoding="utf-8").split(f"\n## {table}\n")[1].split("\n## ")[0]
    )
    assert all(f"`{column}`" in section for column in COLUMNS[table])


@pytest.mark.long
def test_every_key_of_run_json_is_described(small_run):
    section = (
        (DOCS / "runs.md").read_text(encoding="utf-8").split("\n## run.json\n")[1].split("\n## ")[0]
    )
    assert all(f"`{key}`" in section for key in plain_configuration(small_run().config))


@pytest.mark.long
def test_every_command_has_its_help_in_the_page():
    page = (DOCS / "cli.md").read_text(encoding="utf-8")
    known = commands()
    for name in known:
        if name and not any(other.startswith(f"{name} ") for other in known):
            assert f"\n## segarena {name}\n" in page
            assert f'title="segarena {name} --help-all"' in page


def words(text):
    """Return the words of a help text, without the frames and types that differ between versions of its renderer."""
    lines = [line for line in text.splitlines() if "Usage:" not in line]
    found = re.sub(r"[╭╮╰╯│─*]|<[^>]*>|\[[A-Z]+\]", " ", "\n".join(lines)).split()
    return Counter(word for word in found if not word.isupper())


def test_what_pages_take_from_the_code_is_what_the_code_says_now():
    stale = [
        path.name for path, text, renewed in reference.pages() if words(text) != words(renewed)
    ]
    assert stale == [], "run: python docs/reference.py"


def test_a_stale_block_is_renewed_and_what_cannot_be_said_is_an_error():
    page = "before\n<!-- options of metric dice -->\nold\n<!-- end of options -->\nafter\n"
    renewed = reference.renewed(page)
    assert renewed.startswith("before\n")
    assert renewed.endswith("after\n")
    assert "old" not in renewed
    assert "| `empty` | `1.0` |" in renewed
    assert reference.renewed(renewed) == renewed
    with pytest.raises(ValueError, match="expected plug-ins with the same options"):
        reference.options_table("metric", "dice, nsd")


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.name)
def test_commands_in_shell_blocks_exist(path):
    known = commands()
    targets = re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M)
    text = "\n".join(blocks(path, "console", "bash")).replace("\\\n", " ")
    for line in filter(str.strip, text.splitlines()):
        program, *arguments = shlex.split(line)
        if program == "make":
            assert set(arguments) <= set(targets), line
        elif program == "segarena":
            named = [" ".join(arguments[:count]) for count in (3, 2, 1)]
            command = next((name for name in named if name in known), named[-1])
            assert command in known, line
            options = {argument for argument in arguments if argument.startswith("-")}
            assert options <= known[command] | options_of_benchmark(command, arguments), line


def test_python_blocks_can_be_compiled():
    for path in TEXTS:
        for code in blocks(path, "python"):
            compile(code, str(path), "exec")


RUN_EACH = """
import os, runpy, sys
for script in sys.argv[1:]:
    os.chdir(os.path.dirname(script))
    runpy.run_path(script, run_name="__main__")
"""


def test_python_blocks_run(tmp_path):
    scripts = []
    for name in RUNNABLE:
        folder = tmp_path / name
        folder.mkdir(parents=True)
        for index, code in enumerate(blocks(ROOT / name, "python")):
            script = folder / (
                "my_model.py" if code.startswith("# my_model.py") else f"block_{index}.py"
            )
            script.write_text(code, encoding="utf-8")
            scripts.append(script)
    done = subprocess.run(
        [sys.executable, "-c", RUN_EACH, *scripts],
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.long
def test_the_benchmark_of_the_page_runs_and_reports_when_its_files_are_installed(tmp_path):
    """The page's code is stored where an installed package would be: the module, with its entry points next to it."""
    page = (DOCS / "own-benchmark.md").read_text(encoding="utf-8")
    files = dict(re.findall(r'```\w+ title="([^"]+)"\n(.*?)```', page, re.S))
    (tmp_path / "setbacks.py").write_text(files["setbacks.py"])
    groups = tomllib.loads(files["pyproject.toml"])["project"]["entry-points"]
    told: list[str] = []
    for group, points in groups.items():
        told += [f"[{group}]", *(f"{name} = {module}" for name, module in points.items())]
    package = tmp_path / "setbacks-1.0.dist-info"
    package.mkdir()
    (package / "METADATA").write_text("Metadata-Version: 2.1\nName: setbacks\nVersion: 1.0\n")
    (package / "entry_points.txt").write_text("\n".join(told))
    console = re.search(r"```console\n(.*?)```", page, re.S)[1]
    lines = [shlex.split(line) for line in console.splitlines() if line.startswith("segarena")]
    program = (
        "import sys; from typer.testing import CliRunner; from segarena.cli.main import app\n"
        f"for line in {lines}: answer = CliRunner().invoke(app, line[1:]); assert not answer.exit_code, answer.output\n"
        "print(answer.stdout)"
    )
    last = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=True,
        env={**os.environ, "PYTHONPATH": str(tmp_path), "COLUMNS": "120"},
    ).stdout  # fmt: skip
    html = (tmp_path / "runs/steady/report/report.html").read_text(encoding="utf-8")
    assert html.index('<section id="setbacks"><h2>Setbacks</h2>') < html.index(
        '<section id="summary">'
    )
    assert (
        "<li>Setbacks: mean number of clicks, of 5, after which IoU was lower than before." in html
    )
    losses, (summary,) = (
        list(csv.DictReader((tmp_path / "runs/steady/report" / name).read_text().splitlines()))
        for name in ("setbacks.csv", "summary.csv")
    )
    assert len(losses) == round(float(summary["Setbacks"]) * int(summary["targets"])) > 0
    assert "IoU lost" in last


@pytest.mark.long
def test_the_model_in_the_readme_can_be_judged_by_the_command_below_it(tmp_path):
    (model,) = [
        code for code in blocks(ROOT / "README.md", "python") if code.startswith("# my_model.py")
    ]
    assert len(model.splitlines()) <= 25
    (tmp_path / "my_model.py").write_text(model, encoding="utf-8")
    command = next(
        line
        for line in "\n".join(blocks(ROOT / "README.md", "console")).splitlines()
        if "my_model.py" in line
    )
    program = Path(sys.executable).with_name("segarena")
    done = subprocess.run(
        [program, *shlex.split(command)[1:], "--limit", "1", "--rounds", "2", "--workers", "0"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "runs" / "mine" / "run.json").is_file()


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.name)
def test_links_lead_somewhere(path):
    text = re.sub(r"^```.*?^```", "", path.read_text(encoding="utf-8"), flags=re.M | re.S)
    text = re.sub(r"`[^`\n]+`", "", text)
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"https?://", link):
            continue
        file, _, anchor = link.partition("#")
        target = path.parent / file if file else path
        assert target.exists(), f"{path.name}: {link}"
        assert not anchor or anchor in anchors(target), f"{path.name}: {link}"


def test_the_table_of_extras_names_the_packages_that_each_extra_installs():
    projects = {}
    for path in (ROOT / "packages").glob("*/pyproject.toml"):
        project = tomllib.loads(path.read_text(encoding="utf-8"))["project"]
        projects[project["name"]] = project

    def names(requirements):
        return {re.match(r"[\w-]+", requirement)[0] for requirement in requirements}

    expected = {}
    for name, project in projects.items():
        for extra, requirements in project.get("optional-dependencies", {}).items():
            packages = names(requirements)
            for companion in packages & projects.keys():
                packages |= names(projects[companion]["dependencies"]) - {"segarena"}
            expected[f"{name}[{extra}]"] = packages
    page = (DOCS / "install.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\|[^|]*\| `([\w-]+\[\w+\])` \| ([^|]*) \|$", page, re.M)
    shown = {extra: set(re.split(r", (?:with )?", packages)) for extra, packages in rows}
    assert shown == expected


def test_all_pages_are_in_the_navigation():
    text = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").split("\nnav:\n")[1]
    assert {page.relative_to(DOCS).as_posix() for page in PAGES} == set(
        re.findall(r": ([\w/-]+\.md)$", text, re.M)
    )


def test_files_that_the_docs_name_exist():
    for path in TEXTS:
        for name in re.findall(
            r"`((?:examples|tests|docs|src|segarena)/[\w/.]+\w)`", path.read_text(encoding="utf-8")
        ):
            assert any((home / name).exists() for home in (ROOT, *ROOT.glob("packages/*/src"))), (
                f"{path.name}: {name}"
            )


def test_files_that_the_architecture_names_stand_in_the_house():
    named = re.findall(
        r"`((?:\w+/)*\w+\.py|(?:\w+/){2,})`", (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    )
    homes = [ROOT, *ROOT.glob("packages/*/src"), *ROOT.glob("packages/*/src/*")]
    assert len(named) > 10
    assert [name for name in named if not any((home / name).exists() for home in homes)] == []


def test_the_house_in_the_architecture_is_the_one_that_stands():
    house = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    told = re.findall(r"^  (\w+(?:\.py|/)) ", house, re.M)
    package = ROOT / "packages/segarena/src/segarena"
    there = {file.name for file in package.glob("*.py") if not file.name.startswith("__")}
    there |= {f"{file.parent.name}/" for file in package.glob("*/__init__.py")}
    assert set(told) == there
    contract = re.findall(
        r'^    "([\w |]+)",$',
        (ROOT / "pyproject.toml").read_text(encoding="utf-8").split("layers = [")[2].split("]")[0],
        re.M,
    )
    place = {name: -rank for rank, line in enumerate(contract) for name in line.split(" | ")}
    ranks = [place[name.removesuffix("/").removesuffix(".py")] for name in told]
    assert ranks == sorted(ranks)
