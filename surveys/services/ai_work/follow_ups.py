"""Further questions about short answers, which a worker has a model write (rules 10.60 to 10.69 and 10.73).

Nothing is locked while the model works. A question counts only if the conversation still waits for it, so a
second or late worker changes nothing. A failure is not retried: the conversation continues without a
question.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from datetime import datetime

from django.utils import timezone

from communities import services as communities
from communities.ground.transactions import in_transaction
from surveys import ai
from surveys.ai import spending
from surveys.ai.provider import FollowUpRequest, ProviderError
from surveys.engine.flow.wording import heading
from surveys.engine.walk import answers, follow_ups
from surveys.models import Project
from surveys.services.ai_work import paying
from surveys.services.conversations import further
from surveys.services.ground import jobs


def ask(*, conversation_id: uuid.UUID, asked: int, now: Callable[[], datetime] = timezone.now) -> None:
    """Have a model write the `asked`-th further question, if the conversation still waits for this question.

    The question is paid before the call. The credits are returned if no question is asked.
    """
    began = now()
    request = _request(conversation_id, asked, began)
    if request is None:
        return
    project, to_ask = request
    community_id = project.community_id
    outcome = paying.pay_for_follow_up(community_id=community_id, project_id=project.pk)
    if outcome is not None:
        _store(conversation_id, asked, None, now())
        spending.count_follow_up(outcome, community_id=community_id, at=began)
        return
    question, is_asked, outcome = None, False, "none"
    try:
        jobs.close_connection()
        question = ai.get_provider().ask_further(to_ask)
    except ProviderError:  # The provider has logged the error.
        outcome = "failed"
    finally:
        is_asked = _store(conversation_id, asked, question, now())
        if not is_asked:
            paying.return_follow_up(community_id=community_id)
    if question:
        outcome = "asked" if is_asked else "late"
    spending.count_follow_up(outcome, community_id=community_id, at=began)


@in_transaction
def _request(conversation_id: uuid.UUID, asked: int, at: datetime) -> tuple[Project, FollowUpRequest] | None:
    """Return the project, and a question with its answer. Tokens are removed, so that the model gets no other
    data of the respondent.
    """
    loaded = further.waiting(conversation_id=conversation_id, asked=asked, at=at)
    if loaded is None:
        return None
    block, reply = further.subject(loaded)
    earlier = [(str(each["question"]), each["answer"] or "") for each in follow_ups.of(reply)]
    return loaded.project, FollowUpRequest(
        prompt=heading(block.prompt, loaded.script),
        answer=answers.display_text(block, reply),
        earlier=earlier,
        locale=communities.get_settings(community_id=loaded.project.community_id).locale,
    )


@in_transaction
def _store(conversation_id: uuid.UUID, asked: int, question: str | None, at: datetime) -> bool:
    """Store the question, or the fact that there is none, in the conversation. Return whether a question is
    asked now.
    """
    loaded = further.waiting(conversation_id=conversation_id, asked=asked, at=at)
    if loaded is None:
        return False
    further.settle(loaded, question)
    return question is not None
