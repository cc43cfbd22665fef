"""Phrases that go together, found by where they occur."""

from __future__ import annotations

import threading
from collections.abc import Collection, Sequence

from sklearn.cluster import AgglomerativeClustering
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics.pairwise import cosine_distances
from threadpoolctl import threadpool_limits

APART = 0.62  # the distance from which two groups of phrases are two matters
_this_thread = threading.local()


def groups(documents: Sequence[Collection[str]], vocabulary: Sequence[str]) -> list[list[str]]:
    """The vocabulary in groups whose phrases often stand in the same documents.

    Phrases are clustered, not documents: a group says by itself which answers are about it, today and in
    every later batch. There is no chance in it, and no order of documents: the vocabulary's decides ties.
    """
    if len(vocabulary) < 2:
        return [[phrase] for phrase in vocabulary]
    _use_one_thread()
    weights = TfidfVectorizer(analyzer=_as_it_is, vocabulary=list(vocabulary), binary=True).fit_transform(
        documents
    )
    clustering = AgglomerativeClustering(
        n_clusters=None,
        distance_threshold=APART,
        metric="precomputed",
        linkage="average",
    )
    labels = clustering.fit_predict(cosine_distances(weights.T))
    found: dict[int, list[str]] = {}
    for phrase, label in zip(vocabulary, labels, strict=True):
        found.setdefault(int(label), []).append(phrase)
    return list(found.values())


def _as_it_is(document: Collection[str]) -> Collection[str]:
    return document


def _use_one_thread() -> None:
    """The worker has threads of its own, one for each piece of work, on as few as two cores.

    Set for good: as a context it would be undone by whichever thread leaves first. OpenMP remembers it for
    the calling thread alone, so each thread says it once.
    """
    if not getattr(_this_thread, "is_limited", False):
        threadpool_limits(limits=1)
        _this_thread.is_limited = True
