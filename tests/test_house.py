"""Shared code depends on no system: lint-imports checks its imports, these tests check names and texts."""

import ast
import re
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "packages/segarena/src/segarena"
SYSTEMS = re.compile(r"\b(davis|toss|rclicks|radioactive|amodal|cvpr2025)\b", re.IGNORECASE)
# Users' scripts import `segarena.davis`, which only re-exports the session of the system's package.
PUBLISHED_PATHS = {"davis.py"}
# The studio stands on the systems: it draws the scenes of one and collects the clicks of another. So do the formats
# of people's prompts: some are the files of a system's own data.
ABOVE = {"systems", "studio", "people/formats"}


def is_above(path):
    return any(path.is_relative_to(PACKAGE / room) for room in ABOVE)


def shared_modules():
    return [
        path
        for path in sorted(PACKAGE.rglob("*.py"))
        if not is_above(path) and str(path.relative_to(PACKAGE)) not in PUBLISHED_PATHS
    ]


def docstrings(tree):
    """Return the docstrings and help texts, which may cite the paper of a formula and show examples."""
    found = set()
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        for statement in body if isinstance(body, list) else []:
            if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
                found.add(statement.value)
    return found


def names_in(tree):
    """Yield every identifier and every string that the code uses."""
    said = docstrings(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in said:
            yield node.lineno, node.value
        elif isinstance(node, ast.Name):
            yield node.lineno, node.id.replace("_", " ")
        elif isinstance(node, ast.Attribute):
            yield node.lineno, node.attr.replace("_", " ")
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            yield node.lineno, node.name.replace("_", " ")
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            yield node.lineno, ast.unparse(node)


def systems_named_in(source):
    return [
        f"line {line}: {text}" for line, text in names_in(ast.parse(source)) if SYSTEMS.search(text)
    ]


def test_shared_code_names_no_system():
    named = {
        str(path): systems_named_in(path.read_text(encoding="utf-8")) for path in shared_modules()
    }
    assert len(named) > 200
    assert {path: lines for path, lines in named.items() if lines} == {}


@pytest.mark.parametrize(
    "source",
    [
        "if name == 'davis': pass",
        "def is_toss(run): ...",
        "from segarena.systems.clicks import rclicks",
    ],
)
def test_a_name_in_code_would_be_found(source):
    assert systems_named_in(source)


def test_citing_a_paper_is_not_knowing_a_system():
    assert systems_named_in('def f():\n    """Source: RClicks, section 5."""') == []


@pytest.mark.parametrize("suffix", ["css", "js", "html"])
def test_templates_and_styles_of_shared_rooms_name_no_system(suffix):
    for path in PACKAGE.rglob(f"*.{suffix}"):
        if not is_above(path):
            assert not SYSTEMS.search(path.read_text(encoding="utf-8")), path


def test_constants_named_in_docstrings_exist():
    """After a renaming, a docstring that still has the old name misleads its readers."""
    constant = re.compile(r"`([A-Z][A-Z_]{3,})`")
    words = {"PLUGIN"}  # a placeholder
    named = []
    for path in sorted(PACKAGE.parents[2].glob("*/src/**/*.py")):
        lines = path.read_text(encoding="utf-8").splitlines()
        for docstring in docstrings(ast.parse("\n".join(lines))):
            if isinstance(docstring.value, str):
                named += [(path.name, name) for name in constant.findall(docstring.value)]
            for number in range(docstring.lineno - 1, docstring.end_lineno):
                lines[number] = ""
        code = re.sub(r"(?m)(^|\s)#\s.*$", "", "\n".join(lines))  # without comments
        words.update(re.findall(r"\b[A-Z][A-Z_]{3,}\b", code))
    assert [f"{file}: {name}" for file, name in named if name not in words] == []
