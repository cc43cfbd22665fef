"""Words of somebody in finished analyses, taken out again when they are deleted (decisions 8.10)."""

from __future__ import annotations

import uuid
from typing import Any

from communities import statements, wire
from surveys.models import Analysis

_WRITTEN = """
    SELECT a.value FROM surveys_answer a JOIN surveys_block b ON b.id = a.block_id
    WHERE a.conversation_id = %s AND b.type = 'open_text'
"""


def drop_those_of(*, project_id: int, conversation_id: uuid.UUID) -> None:
    """Quote a response nowhere any more. Call in the transaction that deletes it, before it is deleted."""
    texts = [text for (text,) in statements.found(_WRITTEN, [conversation_id])]
    if not texts:
        return
    done = Analysis.objects.filter(project_id=project_id, with_ai=True, status=Analysis.Status.COMPLETED)
    for each in done.select_for_update().only("blocks_as_json").order_by("pk"):
        blocks = each.blocks
        if sum(_dropped(block, texts) for block in blocks):
            each.blocks_as_json = wire.render(blocks).decode()
            each.save(update_fields=["blocks_as_json"])


def _dropped(block: dict[str, Any], texts: list[str]) -> int:
    """How many quotes were taken out of a block."""
    dropped = 0
    for theme in (block.get("open_text") or {}).get("themes", ()):
        left = [quote for quote in theme["quotes"] if not any(quote in text for text in texts)]
        dropped += len(theme["quotes"]) - len(left)
        theme["quotes"] = left
    return dropped
