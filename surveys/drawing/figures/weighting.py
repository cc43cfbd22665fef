"""What staff are told about the weights of results."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from communities.ground.words import amount, plural
from surveys.services.counting.weights import MOST

_LEFT_OUT = {
    "missing": "without a value",
    "not_a_number": "with another text than a number",
    "zero": "with 0",
    "negative": "with a number below 0",
    "too_large": f"with a number above {MOST:,}",
}


def words_of(weighting: Mapping[str, Any] | None, *, noun: str) -> list[str]:
    """The weighted bases in sentences, the first for the mark; empty without weights."""
    if weighting is None:
        return []
    left_out = weighting["left_out"]
    sentences = [
        f"Weighted by {weighting['field']}.",
        f"{plural(weighting['count'], noun)} with weights of {amount(weighting['weighted_count'])} in all: "
        f"as certain as {weighting['effective_count']:,.1f} without weights (Kish’s effective base).",
        "Shares, means, quartiles and scores are weighted; beside them are sums of weights.",
    ]
    if weighting["is_dominated"]:
        sentences.append(
            f"One response has {weighting['largest_share']:,.2f} % of all weights. Who answers by the page’s "
            "address can write fields there: please check where this weight comes from."
        )
    if others := sum(left_out.values()):
        why = [f"{left_out[name]:,} {words}" for name, words in _LEFT_OUT.items() if left_out[name]]
        sentences.append(
            f"Left out because they have no usable weight: {plural(others, noun)} ({', '.join(why)})."
        )
    return sentences
