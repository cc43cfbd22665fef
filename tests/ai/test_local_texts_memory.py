"""Themes of the longest answers take the memory of their text, and not of all its parts (rule 10.40)."""

from __future__ import annotations

import random
import tracemalloc

import pytest

from surveys.ai.local import LocalProvider, embeddings
from surveys.ai.local.texts.cleaning import MAX_READ_LENGTH, fold, plain
from surveys.ai.provider import TextSample

MEGABYTE = 1_000_000
RANDOM = random.Random(1)
LONGEST = {
    "ideographs": ["".join(chr(RANDOM.randrange(0x4E00, 0x9FA5)) for _ in range(2_000)) for _ in range(30)],
    "ligatures of 18 letters": ["ﷺ" * 2_000] * 30,
}


@pytest.mark.long
@pytest.mark.parametrize("has_embeddings", [True, False])
@pytest.mark.parametrize("kind", LONGEST)
def test_the_longest_answers_take_little_memory(
    kind: str, has_embeddings: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embeddings, "are_available", lambda: has_embeddings)
    provider = LocalProvider()
    provider.name_themes(TextSample("What?", ["Zig is a zag."] * 6))  # what this loads stays

    tracemalloc.start()
    try:
        provider.name_themes(TextSample("What?", LONGEST[kind]))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert peak < 50 * MEGABYTE


def test_normal_forms_are_cut() -> None:
    assert len(fold("ﷺ" * 2_000)) == len(plain("ﷺ" * 2_000)) == MAX_READ_LENGTH
