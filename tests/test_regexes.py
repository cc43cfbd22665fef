"""No regular expression takes time that grows with the square of a text."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from contextlib import suppress
from importlib import import_module
from typing import Any

import pytest
import regex

from tests.support.cases import try_each
from tests.support.our_code import APPS, modules
from tests.support.regex_steps import ANCHORED, Stepped

Pattern = re.Pattern[Any] | regex.Pattern[Any]
METHODS = ("match", "fullmatch", "search", "findall", "finditer", "split", "subn", "sub")


def patterns() -> Iterator[tuple[str, Pattern, str]]:
    """The patterns of our code: their places, the patterns, and each method by which they are used.

    These are the patterns in variables of modules and classes, and those in calls such as `re.sub(...)`. A
    pattern in a list is used by the methods that its module calls.
    """
    anywhere = _uses("\n".join(each.source for each in modules()))
    for each in modules("re.compile(", "regex.compile("):
        module = import_module(each.path.removesuffix(".py").replace("/", "."))
        here = _uses(each.source)
        called = set().union(*here.values()) or {"search"}
        for name, value in vars(module).items():
            methods = (here if name.startswith("_") else anywhere).get(name, called)
            for pattern, method in found_in(value, module.__name__):
                for one in {method} if method else methods:
                    yield f"{module.__name__}.{name}", pattern, one
    for each in modules("import re\n", "import regex\n"):
        module = import_module(each.path.removesuffix(".py").replace("/", "."))
        for line, method, text in written_in_calls(each.source, vars(module)):
            yield f"{module.__name__}:{line}", re.compile(text, re.IGNORECASE), method


def _uses(source: str) -> dict[str, set[str]]:
    """The methods of patterns that a source calls or names, by the name before the dot."""
    used: dict[str, set[str]] = {}
    for name, method in re.findall(rf"\b(\w+)\.({'|'.join(METHODS)})\b", source):
        used.setdefault(name, set()).add(method)
    return used


def written_in_calls(source: str, names: dict[str, Any]) -> Iterator[tuple[int, str, str]]:
    """The calls of functions of `re` with a pattern made of constants: line, function and pattern."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Call(
                func=ast.Attribute(value=ast.Name("re" | "regex"), attr=method),
                args=[(ast.Constant() | ast.JoinedStr()) as written, *_],
            ) if method != "compile":
                with suppress(NameError, KeyError):  # it has parts that are known only while it runs
                    yield node.lineno, method, eval(ast.unparse(written), dict(names))


def found_in(value: Any, module: str) -> Iterator[tuple[Pattern, str]]:
    """The patterns of a value, each with the method of it that the value is."""
    if isinstance(value, re.Pattern | regex.Pattern):
        yield value, ""
    elif isinstance(getattr(value, "__self__", None), re.Pattern | regex.Pattern):
        yield value.__self__, value.__name__
    elif isinstance(value, dict):
        yield from found_in([*value.keys(), *value.values()], module)
    elif isinstance(value, list | tuple | set | frozenset):
        for each in value:
            yield from found_in(each, module)
    elif isinstance(value, type) and value.__module__ == module:
        yield from found_in(list(vars(value).values()), module)
    elif type(value).__module__.partition(".")[0] in APPS:  # an object that keeps patterns
        kept = list(getattr(value, "__dict__", {}).values())
        yield from found_in([each for each in kept if isinstance(each, re.Pattern | regex.Pattern)], module)


@pytest.fixture(autouse=True)
def _deep_recursion(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(20_000)
    yield
    sys.setrecursionlimit(before)


@pytest.mark.long
def test_no_pattern_of_ours_is_slow() -> None:
    found = {
        (pattern, method if method in ANCHORED else "search"): name for name, pattern, method in patterns()
    }

    slow = {
        (name, method, text)
        for (pattern, method), name in found.items()
        if (text := Stepped(pattern).slow_text(method))
    }

    assert len(found) > 100
    assert slow == set()


@pytest.mark.long
@try_each(
    "slow",
    [
        r"[.!?…]+(?:\s|$)",
        r"[.!?…]++(?:\s|$)",
        r"\w+@",
        r"(?:a+)+b",
        r"(?:a|a)*b",
        r"(?<!\w)\w+@|\s*,?\s*x",
        r"x(?:\w+\s?)*$",
        r"<i>.*?</i>",
        r"(?:[^\W\d]+ )?\w+:",
    ],
)
def test_a_slow_pattern_is_recognised(slow: str) -> None:
    assert Stepped(re.compile(slow)).slow_text("search")
    assert Stepped(regex.compile(slow)).slow_text("search")


@try_each(
    "quick",
    [r"[.!?…](?:\s|$)", r"(?<!\w)\w+@", r"\w{1,64}+@", r"^\s+$", r"a++", r"<i>[^<]*</i>", r"\b\w+@"],
)
def test_a_quick_pattern_is_left_alone(quick: str) -> None:
    assert Stepped(re.compile(quick)).slow_text("search") is None
