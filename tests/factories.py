"""Factories of database rows: each makes the smallest row that works. A test names only what it is about."""

from __future__ import annotations

from factory.declarations import Sequence, SubFactory
from factory.django import DjangoModelFactory

from communities.models import Community, Member, User
from tests.support.moments import NOON
from webhooks.models import Webhook


class CommunityFactory(DjangoModelFactory[Community]):
    class Meta:
        model = Community

    id = Sequence(lambda number: 100_000 + number)
    name = "Chess club"


class UserFactory(DjangoModelFactory[User]):
    class Meta:
        model = User

    name = "Ann"


class MemberFactory(DjangoModelFactory[Member]):
    """A present member of a community, by default of a new one."""

    class Meta:
        model = Member

    community = SubFactory(CommunityFactory)
    user = SubFactory(UserFactory)


class WebhookFactory(DjangoModelFactory[Webhook]):
    """A webhook that is on and subscribed to every event."""

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
