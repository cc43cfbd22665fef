"""The respondent of a conversation, and the member who earns its rewards."""

from __future__ import annotations

from datetime import datetime

from communities.models import Identity
from communities.services.people import members
from communities.services.people.members import LockedMember
from surveys.models import Conversation, Project
from surveys.services.conversations import effects
from surveys.services.conversations.admission import Respondent
from surveys.services.conversations.effects import Earner, Recipient
from surveys.services.ground import anonymity
from surveys.services.ground.anonymity import RememberedRespondent


def identify(conversation: Conversation, respondent: Respondent, at: datetime) -> RememberedRespondent | None:
    """Store the respondent. On anonymous projects only encrypted, and without a row about the person."""
    project, identity = conversation.project, respondent.who
    key = anonymity.respondent_hash(project_id=project.pk, who=identity) if identity else None
    if project.is_anonymous:
        if key is None:
            return None
        remembered = RememberedRespondent(key, respondent.user_id, at)
        conversation.sealed_respondent = sealed(conversation, remembered)
        return remembered
    conversation.respondent = key
    conversation.platform_id = respondent.platform_id
    conversation.user_id = respondent.user_id
    if respondent.external_id is not None:
        conversation.user_id = members.user_for_external_id(
            community_id=project.community_id, external_id=respondent.external_id
        )
    return None


def sealed(conversation: Conversation, remembered: RememberedRespondent) -> bytes:
    return anonymity.seal(
        project_id=conversation.project_id, conversation_id=conversation.pk, remembered=remembered
    )


def unsealed(conversation: Conversation) -> RememberedRespondent | None:
    sealed = conversation.sealed_respondent
    if sealed is None:
        return None
    return anonymity.unseal(
        project_id=conversation.project_id, conversation_id=conversation.pk, sealed=bytes(sealed)
    )


def recipient_of(
    conversation: Conversation,
    *,
    remembered: RememberedRespondent | None = None,
    held: LockedMember | None = None,
    at: datetime,
) -> tuple[Earner | None, Recipient | None]:
    """The respondent if they are a user, and the member who receives the gifts of a move if they are one.

    `held` is the member if they are locked already.
    """
    earner = _earner(conversation, remembered)
    if earner is None:
        return None, None
    earner, held = effects.lock_earner(conversation.project, earner, held)
    return earner, effects.recipient_of(conversation=conversation, earner=earner, held=held, at=at)


def _earner(conversation: Conversation, remembered: RememberedRespondent | None) -> Earner | None:
    """The user who may earn something by this conversation: a respondent who was admitted as a member.

    An anonymous conversation stores its respondent only while it runs. A respondent with an `external_id` has
    a user too, but responds on the web and earns nothing. An imported response states whether it earns.
    """
    if remembered is not None:
        if remembered.user_id is None:
            return None
        return Earner(remembered.user_id, remembered.respondent)
    is_external = conversation.provider == Identity.Provider.WEB and conversation.platform_id is not None
    earns = conversation.state.get("earns", True) and not is_external
    if conversation.user_id is None or conversation.respondent is None or not earns:
        return None
    return Earner(conversation.user_id, conversation.respondent)


def most_completions(project: Project) -> int | None:
    """The number of completions allowed for one respondent; None for no limit.

    A poll whose votes may be changed allows one.
    """
    if project.is_poll and project.change_poll and not project.is_anonymous:
        return 1
    return project.max_completes_per_user
