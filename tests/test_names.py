"""One name for one thing, and a word on each parameter of what is public."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import sunveil

ROOT = Path(sunveil.__file__).parent
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
# A route's and a command's parameters are documented where a user sees them: in the API's
# description, on the page, and in the options' help.
ROUTES = {"get", "post", "put", "delete", "command", "group"}


def modules() -> Iterator[tuple[str, ast.Module]]:
    for path in sorted(ROOT.rglob("*.py")):
        name = path.relative_to(ROOT).with_suffix("").as_posix()
        yield name, ast.parse(path.read_text(encoding="utf-8"))


def public(body: list[ast.stmt], kind: type | tuple[type, ...]) -> list:
    return [node for node in body if isinstance(node, kind) and not node.name.startswith("_")]


def class_homes() -> dict[str, list[str]]:
    """Return the modules of each public class, by its name."""
    homes = defaultdict(list)
    for name, tree in modules():
        for node in public(tree.body, ast.ClassDef):
            homes[node.name].append(name)
    return homes


def parameter_count(function: ast.FunctionDef | ast.AsyncFunctionDef, *, method: bool) -> int:
    """Return how many parameters a function has, without ``self`` or ``cls``."""
    given = function.args
    names = [each.arg for each in (*given.posonlyargs, *given.args, *given.kwonlyargs)]
    bound = method and names[:1] in (["self"], ["cls"])
    return len(names) - bound + (given.vararg is not None) + (given.kwarg is not None)


def is_route_or_command(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    called = [each.func if isinstance(each, ast.Call) else each for each in function.decorator_list]
    return any(isinstance(each, ast.Attribute) and each.attr in ROUTES for each in called)


def lacks_parameters(tree: ast.Module) -> Iterator[str]:
    """Yield public functions and methods of more than two parameters without their section."""
    owners = [("", tree.body), *((f"{c.name}.", c.body) for c in public(tree.body, ast.ClassDef))]
    for prefix, body in owners:
        for function in public(body, FUNCTIONS):
            said = ast.get_docstring(function) or ""
            many = parameter_count(function, method=bool(prefix)) > 2
            if (
                many
                and "Parameters\n----------\n" not in said
                and not is_route_or_command(function)
            ):
                yield prefix + function.name


def test_no_public_class_has_a_namesake():
    assert {name: homes for name, homes in class_homes().items() if len(homes) > 1} == {}


def test_public_functions_of_more_than_two_parameters_have_a_parameters_section():
    lacking = {name: found for name, tree in modules() if (found := list(lacks_parameters(tree)))}
    assert lacking == {}


def test_the_check_of_parameters_sees_what_it_must():
    text = """
def two(a, b): "Short."
def three(a, b, *, c): "Short."
def _three(a, b, c): "Short."
@router.get("/")
def route(a, b, c): "Short."
class Thing:
    def two(self, a, b): "Short."
    def three(self, a, b, **more): "Short."
    @classmethod
    def of(cls, a, b): "Short."
"""
    assert list(lacks_parameters(ast.parse(text))) == ["three", "Thing.three"]
