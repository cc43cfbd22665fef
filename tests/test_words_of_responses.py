"""One word for a response that is not completed: “partial” for staff, “unfinished” for respondents."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from django.conf import settings

from tests.support.cases import try_each

ROOT = Path(settings.BASE_DIR)
STAFF = ("surveys/admin", "surveys/api", "surveys/drawing/figures", "communities/gate/schema_words.py")
RESPONDENTS = ("surveys/pages", "surveys/drawing/words.py", "surveys/drawing/screens.py", "surveys/chat")
PAGES_OF_STAFF = ("templates/staff", "templates/results")
PAGES_OF_RESPONDENTS = ("templates/respondent", "templates/account")
NOT_FOR_STAFF = re.compile(
    r"(?<!“)\bunfinished\b|\bnot finished\b|^so far$|\bin progress\b|\bnot completed$"
    r"|\bincomplete (response|answer|conversation)",
    re.IGNORECASE,
)
NOT_FOR_RESPONDENTS = re.compile(
    r"\bpartial\b|\bnot finished\b|^so far$|\bin progress\b|\bincomplete (response|answer)", re.IGNORECASE
)


def texts(path: Path) -> Iterator[str]:
    """The texts of a module without docstrings, or those of a template and a chapter without their code."""
    if path.suffix != ".py":
        yield re.sub(r"{%.*?%}|{{.*?}}|<[^>]*>", " ", path.read_text(), flags=re.DOTALL)
        return
    tree = ast.parse(path.read_text())
    docstrings = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and node.body
        if isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
            yield node.value


def files(*places: str) -> list[Path]:
    found = [
        path
        for place in places
        for path in ([ROOT / place] if (ROOT / place).is_file() else sorted((ROOT / place).rglob("*.*")))
        if path.suffix in (".py", ".html", ".txt", ".md")
    ]
    assert found
    return found


@try_each(
    ("places", "others"),
    [
        ((*STAFF, *PAGES_OF_STAFF, "config/docs"), NOT_FOR_STAFF),
        ((*RESPONDENTS, *PAGES_OF_RESPONDENTS), NOT_FOR_RESPONDENTS),
    ],
)
def test_a_response_that_is_not_completed_has_one_name(
    places: tuple[str, ...], others: re.Pattern[str]
) -> None:
    """Rule 6.293."""
    found = [
        f"{path.relative_to(ROOT)}: {match[0]}"
        for path in files(*places)
        for text in texts(path)
        for match in others.finditer(text)
    ]

    assert found == []
