"""Measures of how hard the code is to read must not get worse; docs/language.md explains them.

They show where to look again. A line broken only to lower a measure makes the code worse: raise the limit here
instead, and say why.
"""

import ast
import collections
import io
import tokenize
from functools import cache
from pathlib import Path

import grimp

ROOT = Path(__file__).parents[1]
SOURCES = sorted(ROOT.glob("packages/*/src"))
PACKAGES = ("segarena", "segarena_people", "segarena_server", "segarena_studio")

TOKENS_A_LINE = 8.0
COMPREHENSIONS = 26
CONDITIONAL_EXPRESSIONS = 12.5
PACKED_ASSIGNMENTS = 0.2
SHARED_NAMES = 80
FUNCTION_LEVEL_IMPORTS = 60
"""Of our own modules. They stay where a top-level import would load torch, Ray or a server, or what `--help` does not
need, or make a cycle."""

COUNTED = {tokenize.NAME, tokenize.OP, tokenize.NUMBER, tokenize.STRING}
COMPREHENSION = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
DEFINITION = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


@cache
def modules():
    """Return the text and the syntax tree of every module, by path."""
    texts = {
        path: path.read_text(encoding="utf-8")
        for source in SOURCES
        for path in source.rglob("*.py")
    }
    return {path: (text, ast.parse(text)) for path, text in texts.items()}


def docstring_lines(tree):
    lines = set()
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, *DEFINITION)) and ast.get_docstring(node, clean=False):
            lines.update(range(node.body[0].lineno, node.body[0].end_lineno + 1))
    return lines


def is_packed(node):
    """Return whether an assignment unpacks several values into several names: `a, b = x, y`."""
    return (
        isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Tuple)
        and isinstance(node.value, ast.Tuple)
        and len(node.value.elts) > 1
    )


def figures():
    """Return tokens per line, and the counts per 1000 lines of code; docstrings are no code."""
    counts = collections.Counter()
    for text, tree in modules().values():
        documented = docstring_lines(tree)
        tokens = collections.Counter(
            token.start[0]
            for token in tokenize.generate_tokens(io.StringIO(text).readline)
            if token.type in COUNTED and token.start[0] not in documented
        )
        counts["lines"] += len(tokens)
        counts["tokens"] += tokens.total()
        for node in ast.walk(tree):
            counts["comprehensions"] += isinstance(node, COMPREHENSION)
            counts["conditional"] += isinstance(node, ast.IfExp)
            counts["packed"] += is_packed(node)
    thousands = counts["lines"] / 1000
    found = {name: counts[name] / thousands for name in ("comprehensions", "conditional", "packed")}
    return {"tokens": counts["tokens"] / counts["lines"], **found}


def test_lines_hold_no_more_than_they_did():
    bars = {
        "tokens": TOKENS_A_LINE,
        "comprehensions": COMPREHENSIONS,
        "conditional": CONDITIONAL_EXPRESSIONS,
        "packed": PACKED_ASSIGNMENTS,
    }
    found = figures()
    assert {name: found[name] for name, bar in bars.items() if found[name] > bar} == {}


def test_public_names_keep_one_meaning():
    homes = collections.defaultdict(set)
    for path, (_, tree) in modules().items():
        if "migrations" in path.parts:
            continue  # Alembic prescribes the names of their functions.
        for node in tree.body:
            if isinstance(node, DEFINITION) and not node.name.startswith("_"):
                homes[node.name].add(path)
    shared = sorted(name for name, paths in homes.items() if len(paths) > 1)
    assert len(shared) <= SHARED_NAMES, shared


def function_level_imports(tree):
    for definition in ast.walk(tree):
        if isinstance(definition, (ast.FunctionDef, ast.AsyncFunctionDef)):
            for node in ast.walk(definition):
                if (
                    isinstance(node, ast.ImportFrom)
                    and (node.module or "").split(".")[0] in PACKAGES
                ):
                    yield node


def test_imports_stand_at_the_top():
    found = {
        (path, node.lineno)
        for path, (_, tree) in modules().items()
        for node in function_level_imports(tree)
    }
    assert len(found) <= FUNCTION_LEVEL_IMPORTS


def test_no_two_modules_import_each_other():
    graph = grimp.build_graph(*PACKAGES, cache_dir=None)
    index: dict[str, int] = {}
    lowest: dict[str, int] = {}
    stack: list[str] = []
    cycles: list[list[str]] = []

    def visit(module):
        """Visit a module in Tarjan's algorithm for strongly connected components."""
        index[module] = lowest[module] = len(index)
        stack.append(module)
        for imported in graph.find_modules_directly_imported_by(module):
            if imported not in index:
                visit(imported)
            if imported in stack:
                lowest[module] = min(lowest[module], lowest[imported])
        if lowest[module] == index[module]:
            place = stack.index(module)
            component = stack[place:]
            del stack[place:]
            if len(component) > 1:
                cycles.append(sorted(component))

    for module in sorted(graph.modules):
        if module not in index:
            visit(module)
    assert cycles == []
