"""Factories of database rows. Each makes the smallest row that works; a test names only what it is about."""

from __future__ import annotations

import hashlib
import secrets

from factory.declarations import LazyAttribute, LazyFunction, SelfAttribute, Sequence, SubFactory, Trait
from factory.django import DjangoModelFactory

from communities.models import (
    ApiKey,
    Community,
    CommunitySettings,
    Identity,
    Member,
    SourceCheck,
    User,
    VerifiedSource,
)
from surveys.models import Block, Conversation, Option, Project
from surveys.services.ground import field_groups
from tests.support.moments import NOON
from webhooks.events import EventType
from webhooks.models import Delivery, Event, Webhook
from xp.models import EarnedAchievement, Standing, XpEntry


class CommunityFactory(DjangoModelFactory[Community]):
    """A community without settings, of the lowest tier."""

    class Meta:
        model = Community

    id = Sequence(lambda number: 100_000 + number)
    name = "Chess club"


class CommunitySettingsFactory(DjangoModelFactory[CommunitySettings]):
    class Meta:
        model = CommunitySettings

    community = SubFactory(CommunityFactory)


class UserFactory(DjangoModelFactory[User]):
    class Meta:
        model = User

    name = "Ann"


class StaffFactory(UserFactory):
    """A superuser of the installation, without a password."""

    username = Sequence(lambda number: f"staff-{number}")
    is_staff = True
    is_superuser = True


class IdentityFactory(DjangoModelFactory[Identity]):
    """An account on the chat platform: with a community, one that it wrote down; else one that is proven."""

    class Meta:
        model = Identity

    user = SubFactory(UserFactory)
    provider = Identity.Provider.CHAT
    platform_id = Sequence(lambda number: str(820_000_000_000_000_000 + number))
    community = None
    proven_at = LazyAttribute(lambda identity: None if identity.community else NOON)


class VerifiedSourceFactory(DjangoModelFactory[VerifiedSource]):
    """Subscribers of a channel."""

    class Meta:
        model = VerifiedSource

    community = SubFactory(CommunityFactory)
    provider = Identity.Provider.VIDEO
    rule = VerifiedSource.Rule.SUBSCRIBES_TO
    target = "UC-harbour"
    label = "Subscribers of the Harbour channel"
    created_at = NOON


class SourceCheckFactory(DjangoModelFactory[SourceCheck]):
    """A yes of the platform, at noon."""

    class Meta:
        model = SourceCheck

    source = SubFactory(VerifiedSourceFactory)
    identity = SubFactory(IdentityFactory, provider=Identity.Provider.VIDEO)
    passes = True
    checked_at = NOON


class MemberFactory(DjangoModelFactory[Member]):
    """A present member of a community, by default of a new one."""

    class Meta:
        model = Member

    community = SubFactory(CommunityFactory)
    user = SubFactory(UserFactory)


class ApiKeyFactory(DjangoModelFactory[ApiKey]):
    """A key of a user, who has to be a member for the key to be accepted. Requests send `secret`."""

    class Meta:
        model = ApiKey

    class Params:
        secret = LazyFunction(lambda: f"cq_live_{secrets.token_urlsafe(32)}")

    community = SubFactory(CommunityFactory)
    user = SubFactory(UserFactory)
    name = "Tests"
    key_prefix = LazyAttribute(lambda key: key.secret[:14])
    digest = LazyAttribute(lambda key: hashlib.sha256(key.secret.encode()).hexdigest())
    created_at = NOON


class ProjectFactory(DjangoModelFactory[Project]):
    """An inactive survey without blocks that was never open.

    `is_open` makes it live on the open web. With `status="inactive"` beside it the survey is closed, and with
    `opened_at=None` too it was delivered and never opened.
    """

    class Meta:
        model = Project

    class Params:
        is_open = Trait(
            status=Project.Status.ACTIVE,
            opened_at=NOON,
            participation=Project.Participation.OPEN_WEB,
            delivery=field_groups.merged("delivery", None, {"audience": {"participation": "open_web"}}),
        )

    community = SubFactory(CommunityFactory)
    name = "What do you think?"
    type = Project.Type.CONVO
    status = Project.Status.INACTIVE
    created_at = NOON
    opened_at = LazyAttribute(lambda made: NOON if made.status == Project.Status.ACTIVE else None)


class BlockFactory(DjangoModelFactory[Block]):
    """An open question."""

    class Meta:
        model = Block

    project = SubFactory(ProjectFactory)
    position = Sequence(int)
    name = LazyAttribute(lambda block: f"q{block.position}")
    type = "open_text"
    prompt = "Why?"


class OptionFactory(DjangoModelFactory[Option]):
    """An option of a single-choice question."""

    class Meta:
        model = Option

    block = SubFactory(BlockFactory, type="single_punch", prompt="Which?")
    display_order = Sequence(int)
    code = LazyAttribute(lambda option: option.display_order + 1)
    value = LazyAttribute(lambda option: f"Option {option.display_order}")


class ConversationFactory(DjangoModelFactory[Conversation]):
    """A conversation of a nameless respondent that is listed as a response and not finished."""

    class Meta:
        model = Conversation

    project = SubFactory(ProjectFactory)
    seed = 1
    is_listed = True
    started_at = NOON
    updated_at = NOON


class WebhookFactory(DjangoModelFactory[Webhook]):
    """An active webhook that listens to all events."""

    class Meta:
        model = Webhook

    community = SubFactory(CommunityFactory)
    name = "Club website"
    url = "https://hooks.example.org/colloquy"
    events = ["*"]
    sealed_secret = b"sealed"
    secret_prefix = "whsec_Ab12"
    created_at = NOON
    updated_at = NOON


class EventFactory(DjangoModelFactory[Event]):
    class Meta:
        model = Event

    community = SubFactory(CommunityFactory)
    type = EventType.WEBHOOK_PING
    body = "{}"
    created_at = NOON


class DeliveryFactory(DjangoModelFactory[Delivery]):
    """A delivery that is due at once and has never been attempted."""

    class Meta:
        model = Delivery

    webhook = SubFactory(WebhookFactory)
    event = SubFactory(EventFactory, community=SelfAttribute("..webhook.community"))
    partition = 0
    created_at = SelfAttribute("event.created_at")
    due_at = SelfAttribute("created_at")


class StandingFactory(DjangoModelFactory[Standing]):
    """A member's totals, of 0 XP, without a ledger."""

    class Meta:
        model = Standing

    member = SubFactory(MemberFactory)
    community = SelfAttribute("member.community")


class XpEntryFactory(DjangoModelFactory[XpEntry]):
    """The first entry in a member's ledger. Further ones have to continue its balance."""

    class Meta:
        model = XpEntry

    member = SubFactory(MemberFactory)
    delta = 10
    balance_after = SelfAttribute("delta")
    source_kind = XpEntry.SourceKind.ADMIN_MANUAL
    created_at = NOON


class EarnedAchievementFactory(DjangoModelFactory[EarnedAchievement]):
    class Meta:
        model = EarnedAchievement

    member = SubFactory(MemberFactory)
    community = SelfAttribute("member.community")
    number = Sequence(lambda number: number + 1)
    name = "Regular"
    awarded_at = NOON
