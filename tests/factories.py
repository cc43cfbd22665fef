"""Factories of database rows: each makes the smallest row that works. A test names only what it is about."""

from __future__ import annotations

from factory.declarations import Sequence, SubFactory
from factory.django import DjangoModelFactory

from communities.models import Community, Member, User


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
