"""Addresses of members, XP, leaderboard and achievements, below `/v1/`."""

from __future__ import annotations

from django.urls import path

import communities.gate.fields  # noqa: F401 - registers `<id:...>`
from xp.api.achievements import AchievementViewSet
from xp.api.ledger import LedgerViewSet
from xp.api.members import LeaderboardViewSet, MemberViewSet

_COMMUNITY = "communities/<id:community_id>"
_MEMBER = f"{_COMMUNITY}/members/<id:member_id>"

urlpatterns = [
    path(f"{_COMMUNITY}/members", MemberViewSet.as_view({"get": "list", "post": "create"})),
    path(_MEMBER, MemberViewSet.as_view({"get": "retrieve", "patch": "partial_update"})),
    path(f"{_MEMBER}/xp", LedgerViewSet.as_view({"get": "list", "post": "create"})),
    path(f"{_COMMUNITY}/leaderboard", LeaderboardViewSet.as_view({"get": "list"})),
    path(f"{_COMMUNITY}/achievements", AchievementViewSet.as_view({"get": "list"})),
]
