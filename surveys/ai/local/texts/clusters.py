"""Clusters of phrases that occur in the same answers."""

from __future__ import annotations

import threading
from collections.abc import Collection, Sequence

from threadpoolctl import threadpool_limits

MAX_DISTANCE = 0.62  # between two clusters that are merged
_this_thread = threading.local()


def cluster_phrases(documents: Sequence[Collection[str]], vocabulary: Sequence[str]) -> list[list[str]]:
    """Divide the vocabulary into clusters of phrases that often occur in the same documents.

    Each document is the set of phrases of one answer. We cluster phrases and not documents, because the
    phrases of a cluster also tell which answers of a later batch belong to it. The result depends neither on
    chance nor on the order of the documents; the order of the vocabulary breaks ties.
    """
    if len(vocabulary) < 2:
        return [[phrase] for phrase in vocabulary]
    # These take seconds to load.
    from sklearn.cluster import AgglomerativeClustering  # noqa: PLC0415
    from sklearn.feature_extraction.text import TfidfVectorizer  # noqa: PLC0415
    from sklearn.metrics.pairwise import cosine_distances  # noqa: PLC0415

    _use_one_thread()
    vectorizer = TfidfVectorizer(analyzer=_unchanged, vocabulary=list(vocabulary), binary=True)
    weights = vectorizer.fit_transform(documents)
    clustering = AgglomerativeClustering(
        n_clusters=None,
        distance_threshold=MAX_DISTANCE,
        metric="precomputed",
        linkage="average",
    )
    labels = clustering.fit_predict(cosine_distances(weights.T))
    clusters: dict[int, list[str]] = {}
    for phrase, label in zip(vocabulary, labels, strict=True):
        clusters.setdefault(int(label), []).append(phrase)
    return list(clusters.values())


def _unchanged(document: Collection[str]) -> Collection[str]:
    return document


def _use_one_thread() -> None:
    """Keep the numeric libraries to one thread, since the worker already runs one thread for each job.

    The limit is permanent: as a context manager it would be lifted by the first thread that leaves. OpenMP
    stores it for the calling thread only, so each thread sets it once.
    """
    if not getattr(_this_thread, "is_limited", False):
        threadpool_limits(limits=1)
        _this_thread.is_limited = True
