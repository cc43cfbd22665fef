"""Meanings of short texts as vectors, where the optional extra `embeddings` is installed.

Static embeddings, as compared in November 2026:
  wordllama 0.4     December 2025, MIT; 256 dimensions for 32,000 pieces of words are in its wheel (16 MB),
                    so nothing is downloaded; loads in 0.2 s, 54 MB in memory
  model2vec 0.10    October 2026, MIT, many users; its models come from a hub when the program runs
The first one knows English well and other languages little. All that uses it works without it, less well.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

# The library keeps a vector for each piece of these texts, so a small number of texts saves memory.
_AT_ONCE = 4
_loading = threading.Lock()  # Without the lock, two threads that load at the same time would hold two models.


def are_available() -> bool:
    """Whether the extra is installed."""
    return find_spec("wordllama") is not None


def embed(texts: Sequence[str]) -> NDArray[np.float32]:
    """A vector of length 1 for each text. Raises ImportError without the extra."""
    with _loading:
        model = _model()
    vectors: NDArray[np.float32] = model.embed(list(texts), norm=True, batch_size=_AT_ONCE)
    return np.nan_to_num(vectors)


@cache
def _model() -> Any:
    import wordllama  # noqa: PLC0415 - optional, and takes a moment to load

    # The library looks for its tokenizer in the cache alone, so its own directory is given as the cache.
    return wordllama.WordLlama.load(cache_dir=Path(wordllama.__file__).parent, disable_download=True)
