"""Two communities that hold one of everything, each full of a word of its own, and staff of every role."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from uuid import uuid4

from django.contrib.auth.models import Group
from django.contrib.contenttypes.models import ContentType
from django.test import Client

from communities.models import (
    AuditEntry,
    ChatInstallation,
    ChatTask,
    Community,
    IdempotentRequest,
    Member,
    User,
)
from surveys.models import Analysis, Answer, PersonalLink
from tests.factories import (
    ApiKeyFactory,
    BlockFactory,
    CommunityFactory,
    CommunitySettingsFactory,
    ConversationFactory,
    DeliveryFactory,
    EarnedAchievementFactory,
    EventFactory,
    IdentityFactory,
    MemberFactory,
    OptionFactory,
    ProjectFactory,
    StaffFactory,
    StandingFactory,
    VerifiedSourceFactory,
    WebhookFactory,
    XpEntryFactory,
)
from tests.support.moments import NOON
from xp.models import Achievement, RoleGrant

# Who asks, in the order of the columns of a table. All but the last three belong to the first community.
ROLES = ("visitor", "nobody", "member", "creator", "admin", "foreign admin", "superuser")


@dataclass
class FilledCommunity:
    """A community with its objects. Every text in it contains `word`."""

    word: str
    community: Community
    staff: dict[str, User] = field(default_factory=dict)
    ids: dict[str, object] = field(default_factory=dict)  # by the name of the model, in lower case


def filled_community(word: str) -> FilledCommunity:
    """A community with an admin, a creator, who made its project, and a member."""
    filled = FilledCommunity(
        word, CommunityFactory.create(name=f"Club {word}", topics=[word], icon_url=_url(word))
    )
    CommunitySettingsFactory.create(
        community=filled.community,
        thank_you_custom_message=word,
        xp_name=f"XP {word}",
        time_zone="Asia/Tokyo",
    )
    for access in ("member", "creator", "admin"):
        user = StaffFactory.create(is_superuser=False, name=f"{access} {word}", username=f"{access}-{word}")
        MemberFactory.create(
            community=filled.community, user=user, access=access, nick=f"The {access} {word}"
        )
        filled.staff[access] = user
    person = MemberFactory.create(community=filled.community, nick=f"Nick {word}", user__name=f"Name {word}")
    filled.ids |= {
        "community": filled.community.pk,
        "communitysettings": filled.community.pk,
        "member": person.pk,
        "user": person.user_id,
        **_access(filled, word),
        **_rewards(person, word),
        **_surveys(filled, person, word),
        **_webhooks(filled, word),
        **_chat(filled, word),
    }
    return filled


def _chat(filled: FilledCommunity, word: str) -> dict[str, object]:
    snapshot = {
        "id": str(filled.community.pk),
        "name": f"Server {word}",
        "bot_id": "1",
        "bot_role_ids": [],
        "roles": [],
        "channels": [],
    }
    installation = ChatInstallation.objects.create(
        community=filled.community, status="connected", snapshot=snapshot, snapshot_at=NOON
    )
    task = ChatTask.objects.create(
        community=filled.community,
        kind="xp.grant_role",
        subject=f"0-{word}",
        status="abandoned",
        error=f"Error {word}",
        created_at=NOON,
    )
    return {"chatinstallation": installation.pk, "task": task.pk}


def _url(word: str) -> str:
    return f"https://{word}.example.org/"


def _access(filled: FilledCommunity, word: str) -> dict[str, object]:
    key = ApiKeyFactory.create(
        community=filled.community,
        user=filled.staff["admin"],
        name=f"Key {word}",
        description=word,
        key_prefix=f"cq_{word}"[:14],
    )
    source = VerifiedSourceFactory.create(community=filled.community, label=f"Source {word}", target=word)
    request = IdempotentRequest.objects.create(claim=str(key.pk) * 8, fingerprint=word, expires_at=NOON)
    return {
        "apikey": key.pk,
        "verifiedsource": source.pk,
        "idempotentrequest": request.pk,
        "group": Group.objects.create(name=word).pk,
    }


def _rewards(person: Member, word: str) -> dict[str, object]:
    community = person.community
    for fields in ({}, {"provider": "web", "community": community}):
        IdentityFactory.create(user=person.user, platform_id=f"id-{word}", **fields)
    StandingFactory.create(member=person, xp_total=10)
    entry = XpEntryFactory.create(member=person, note=f"Note {word}", survey_name=word)
    EarnedAchievementFactory.create(member=person, number=1, name=f"Badge {word}", image_url=_url(word))
    achievement = Achievement.objects.create(
        community=community, number=1, name=f"Achievement {word}", image_url=_url(word), role_id=word
    )
    grant = RoleGrant.objects.create(
        member=person, community=community, role_id=f"role-{word}", project_name=word, created_at=NOON
    )
    return {"achievement": achievement.pk, "rolegrant": grant.pk, "xpentry": entry.pk}


def _surveys(filled: FilledCommunity, person: Member, word: str) -> dict[str, object]:
    project = ProjectFactory.create(
        community=filled.community,
        author=filled.staff["creator"],
        name=f"Survey {word}",
        status="active",
        participation="open_web",
        block_count=2,
        question_count=2,
    )
    block = BlockFactory.create(project=project, position=0, prompt=f"Why {word}?")
    option = OptionFactory.create(
        block=BlockFactory.create(project=project, position=1, type="single_punch", prompt=f"Which {word}?"),
        value=f"Value {word}",
        label=f"Label {word}",
    )
    conversation = ConversationFactory.create(
        project=project, user=person.user, provider="chat", platform_id=f"id-{word}", completed_at=NOON
    )
    Answer.objects.create(conversation=conversation, block=block, ordinal=0, value=f"Answer {word}")
    analysis = Analysis.objects.create(
        project=project, revision=0, changes=0, created_at=NOON, status="failed", error=f"Error {word}"
    )
    link = PersonalLink.objects.create(
        project=project, member=person, created_at=NOON, expires_at=NOON + timedelta(days=30)
    )
    return {
        "analysis": analysis.pk,
        "link": link.pk,
        "project": project.pk,
        "block": block.pk,
        "option": option.pk,
        "conversation": conversation.pk,
        "response": conversation.pk,
    }


def _webhooks(filled: FilledCommunity, word: str) -> dict[str, object]:
    webhook = WebhookFactory.create(community=filled.community, name=f"Hook {word}", url=_url(word))
    event = EventFactory.create(community=filled.community, body=f'{{"word": "{word}"}}')
    delivery = DeliveryFactory.create(webhook=webhook, event=event)
    return {"webhook": webhook.pk, "event": event.pk, "delivery": delivery.pk, **_history(filled, word)}


def _history(filled: FilledCommunity, word: str) -> dict[str, object]:
    entry = AuditEntry.objects.create(
        id=uuid4(),
        community=filled.community,
        happened_at=NOON,
        source="admin",
        actor_name=f"Person {word}",
        action="project.updated",
        object_type="project",
        object_name=f"Survey {word}",
        after={"name": f"Survey {word}"},
    )
    return {"auditentry": entry.pk}


@dataclass
class TwoCommunities:
    """A community and another one, and a browser for each role."""

    own: FilledCommunity
    other: FilledCommunity
    clients: dict[str, Client]

    def hidden_from(self, role: str) -> tuple[str, ...]:
        """The words that nobody of this role may meet."""
        if role == "superuser":
            return ()
        if role == "foreign admin":
            return (self.own.word,)
        return (self.other.word, self.own.word) if role in ("visitor", "nobody") else (self.other.word,)


def two_communities() -> TwoCommunities:
    """Both communities, and everybody who may ask."""
    own, other = filled_community("quokkavale"), filled_community("wombatmoor")
    users = {
        "nobody": StaffFactory.create(is_superuser=False, name="Nobody"),
        **own.staff,
        "foreign admin": other.staff["admin"],
        "superuser": StaffFactory.create(name="Root"),
    }
    clients = {role: Client() for role in ROLES}
    for role, user in users.items():
        clients[role].force_login(user)
    return TwoCommunities(own, other, clients)


def arguments(filled: FilledCommunity, names: list[str], model: str) -> dict[str, object]:
    """The arguments of an address in a community. `object_id` and `id` are those of the address's model."""
    known = {
        "object_id": filled.ids.get(model, 0),
        "id": filled.ids.get(model, 0),
        "content_type_id": ContentType.objects.get_for_model(Community).pk,
        "app_label": model,
        "url": "nowhere/",
        **{f"{name}_id": value for name, value in filled.ids.items()},
        "job_id": 1,  # of no job
        "entry_id": uuid4(),  # of no entry
        "format": "csv",
    }
    return {name: known[name] for name in names}
