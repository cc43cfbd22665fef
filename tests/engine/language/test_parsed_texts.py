"""The parsed expressions and formulas that a process keeps are bounded by their length (rule 11.27)."""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest

from surveys.engine.intake.reader import MAX_BLOCKS
from surveys.engine.language import expression_grammar, expressions, formula_grammar, formulas
from surveys.engine.language.lexer import MAX_LENGTH, MAX_PARSED

LANGUAGES = [
    pytest.param(expressions, "q1 = {}", id="expressions"),
    pytest.param(formulas, "[q1] + {}", id="formulas"),
]


@pytest.fixture(autouse=True)
def _nothing_parsed() -> Iterator[None]:
    for language in (expressions, formulas):
        language.parse.cache_clear()
    yield
    for language in (expressions, formulas):
        language.parse.cache_clear()


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The texts that a grammar parses. Instead of each text, it parses the number 1."""
    read: list[str] = []

    def reading(grammar: ModuleType) -> Any:
        one = grammar.read("1")

        def reads(text: str) -> Any:
            read.append(text)
            return one

        return reads

    for grammar in (expression_grammar, formula_grammar):
        monkeypatch.setattr(grammar, "read", reading(grammar))
    return read


def texts(form: str, count: int, length: int) -> list[str]:
    return [form.format(n).ljust(length) for n in range(count)]


@pytest.mark.parametrize(("language", "form"), LANGUAGES)
def test_the_largest_script_stays_parsed(language: Any, form: str, parsed: list[str]) -> None:
    of_script = texts(form, MAX_BLOCKS, MAX_LENGTH)

    for text in of_script * 2:
        language.parse(text)

    assert parsed == of_script


@pytest.mark.parametrize(("language", "form"), LANGUAGES)
@pytest.mark.parametrize(("count", "length"), [(MAX_BLOCKS * 2, MAX_LENGTH), (30_000, 0)])
def test_no_more_characters_stay_parsed_than_the_bound(
    language: Any, form: str, count: int, length: int, parsed: list[str]
) -> None:
    for text in texts(form, count, length):
        language.parse(text)

    kept = language.parse.cache
    assert sum(map(len, kept)) <= kept.currsize <= kept.maxsize == MAX_PARSED
    assert len(kept) < count
    assert len(parsed) == count
