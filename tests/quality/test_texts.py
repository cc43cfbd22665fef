"""The bar for the local provider, on sets of answers that it was not tuned by."""

import pytest

from surveys.ai.local import LocalProvider, embeddings
from surveys.ai.provider import SENTIMENTS
from tests.quality import texts
from tests.quality.measures import accuracy, theme_f1

LEAST_F1 = 0.5
LEAST_RIGHT = 0.7


@pytest.fixture(params=texts.SETS)
def labelled(request):
    return texts.load(request.param)


@pytest.mark.parametrize("has_embeddings", [True, False])
def test_themes_and_sentiments_reach_the_bar(labelled, has_embeddings, monkeypatch):
    monkeypatch.setattr(embeddings, "are_available", lambda: has_embeddings)

    _, readings = texts.read(LocalProvider(), labelled)

    f1 = theme_f1(labelled.themes, [set(each.themes) for each in readings])
    assert f1 >= LEAST_F1
    assert f1 > theme_f1(labelled.themes, texts.themes_by_factorisation(labelled))
    assert accuracy(labelled.sentiments, [each.sentiment for each in readings]) >= LEAST_RIGHT


def test_the_sets_are_labelled_throughout(labelled):
    assert len(labelled.texts) == len(set(labelled.texts)) >= 120
    assert set(labelled.sentiments) <= {*SENTIMENTS, None}
    assert all(
        not themes for themes, mood in zip(labelled.themes, labelled.sentiments, strict=True) if mood is None
    )
    assert sum(1 for themes in labelled.themes if themes) >= 100


def test_there_are_six_hundred_answers():
    assert sum(len(texts.load(name).texts) for name in texts.SETS) == 650
