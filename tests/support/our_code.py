"""The source code of the program, for tests that search all of it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
APPS = ("communities", "config", "surveys", "webhooks", "xp")


@dataclass(frozen=True)
class Module:
    """A module by its path below the root of the repository, such as `xp/models.py`."""

    path: str
    source: str

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.source)

    @cached_property
    def _lines(self) -> list[str]:
        return self.source.split("\n")

    def text(self, node: ast.stmt) -> str:
        """The lines of a statement. `ast.get_source_segment` would split the whole source for each node."""
        return "\n".join(self._lines[node.lineno - 1 : node.end_lineno])

    def functions(self) -> Iterator[tuple[ast.FunctionDef, str]]:
        """All functions and methods, with their lines."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.FunctionDef):
                yield node, self.text(node)


def modules(*words: str, apps: tuple[str, ...] = APPS) -> Iterator[Module]:
    """The modules without migrations, by path; with `words`, only modules that contain one of them."""
    for path in sorted(each for app in apps for each in (ROOT / app).rglob("*.py")):
        if "migrations" not in path.parts:
            source = path.read_text(encoding="utf-8")
            if not words or any(word in source for word in words):
                yield Module(str(path.relative_to(ROOT)), source)
