"""How responses came in, in words: by an account on a platform, on the web, or by an import."""

from __future__ import annotations

from communities.sources import platforms

LABELS = {**platforms.LABELS, "import": "Import"}  # of every `Conversation.Provider`
