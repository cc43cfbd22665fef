"""Quotes in finished analyses: they are removed when their response is deleted (rule 6.50)."""

from __future__ import annotations

import uuid
from typing import Any

from communities.ground import statements, wire
from surveys.models import Analysis
from surveys.services.conversations import further

_TEXTS = f"""
    SELECT {further.WHOLE_TEXT} FROM surveys_answer a JOIN surveys_block b ON b.id = a.block_id
    JOIN surveys_conversation c ON c.id = a.conversation_id
    WHERE a.conversation_id = %s AND b.type = 'open_text'
"""


def remove(*, project_id: int, conversation_id: uuid.UUID) -> None:
    """Remove every quote of a response from the project's analyses.

    Call this in the transaction that deletes the response, before the deletion of its answers.
    """
    texts = [text for (text,) in statements.fetch_rows(_TEXTS, [conversation_id])]
    if not texts:
        return
    completed = Analysis.objects.filter(project_id=project_id, with_ai=True, status=Analysis.Status.COMPLETED)
    for analysis in completed.select_for_update().only("blocks_as_json").order_by("pk"):
        blocks = analysis.blocks
        if sum(_remove_from(block, texts) for block in blocks):
            analysis.blocks_as_json = wire.render(blocks).decode()
            analysis.save(update_fields=["blocks_as_json"])


def _remove_from(block: dict[str, Any], texts: list[str]) -> int:
    """Remove quotes of these texts from a block. Returns the number of removed quotes."""
    removed = 0
    for theme in (block.get("open_text") or {}).get("themes", ()):
        others = [quote for quote in theme["quotes"] if not any(quote in text for text in texts)]
        removed += len(theme["quotes"]) - len(others)
        theme["quotes"] = others
    return removed
