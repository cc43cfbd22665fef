"""The origin of responses, in words."""

from __future__ import annotations

from communities.models import Identity
from surveys.models import Conversation
from surveys.response_sources import LABELS


def test_every_source_of_a_response_has_a_name() -> None:
    assert set(LABELS) == set(Conversation.Provider.values) == {*Identity.Provider.values, "import"}
