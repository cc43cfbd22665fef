"""The sources of responses, in words: an account on a platform, the web, or an import."""

from __future__ import annotations

from communities.identity_providers import platforms

LABELS = {**platforms.LABELS, "import": "Import"}  # of every `Conversation.Provider`
