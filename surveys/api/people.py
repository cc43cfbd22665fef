"""What is held about a person: read, and erased (decisions 4, 8.8 and 14.16)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from django.db import transaction
from django.http import HttpResponse
from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from communities import wire
from communities.actors import Role
from communities.http import bodies
from communities.http.authentication import caller_cache
from communities.http.idempotency import once
from communities.http.views import CommunityViewSet
from communities.models import ApiKey, Identity, Member
from surveys.api.conversation_examples import RESPONSE
from surveys.api.responses import ResponseOut
from surveys.services import people
from surveys.services.people import PersonData
from xp.serializers import EARNED_EXAMPLE, ENTRY_EXAMPLE, TAG, EarnedAchievementOut, XpEntryOut

EXAMPLE: dict[str, Any] = {
    "member": {
        "id": "17",
        "community_id": "1018273645546372819",
        "user_id": "52",
        "access": "member",
        "nick": "marit",
        "avatar_url": None,
        "joined_at": "2025-05-01T09:00:00Z",
        "left_at": None,
    },
    "user": {
        "id": "52",
        "name": "Marit Solberg",
        "username": "u-5f0c0a5b8c0e4c7f9a3e7d1b2c4d6e8f",
        "email": None,
        "is_active": True,
        "is_staff": False,
        "joined_at": "2025-05-01T09:00:00Z",
        "last_login_at": None,
    },
    "set_up_the_community": False,
    "identities": [{"provider": "chat", "platform_id": "820000000000000042"}],
    "api_keys": [
        {
            "id": "7",
            "name": "Website",
            "description": None,
            "key_prefix": "cq_live_k3Jq0b",
            "role": None,
            "created_at": "2026-01-31T09:30:00Z",
            "last_used_at": None,
            "expires_at": None,
            "revoked_at": None,
        }
    ],
    "projects": [{"id": "7", "name": "Opening moves"}],
    "participation": [
        {
            "project_id": "5",
            "project_name": "Club evening",
            "completions": 1,
            "sessions": 1,
            "actions": ["achievement", "block:51"],
        }
    ],
    "standing": {"xp_total": 340, "xp_monthly": 40, "participation": 9},
    "achievements": [EARNED_EXAMPLE],
    "roles": [
        {
            "role_id": "910000000000000007",
            "project_id": "5",
            "project_name": "Club evening",
            "created_at": "2026-01-31T09:30:00Z",
            "carried_out_at": None,
        }
    ],
    "entries_for_others": 2,
    "xp_ledger": [ENTRY_EXAMPLE],
    "responses": [RESPONSE],
    "webhook_events": [
        {
            "id": "3b8a4c52-9f0e-4a57-8c1d-6e2f7a9b0c3d",
            "type": "response.submitted",
            "created_at": RESPONSE["submitted_at"],
            "data": {"project_id": RESPONSE["project_id"], "response": RESPONSE},
        }
    ],
}


class PersonMemberOut(serializers.Serializer[Any]):
    """The place in the community."""

    id = serializers.CharField()
    community_id = serializers.CharField()
    user_id = serializers.CharField()
    access = serializers.ChoiceField(choices=Member.Access.values)
    nick = serializers.CharField(allow_null=True)
    avatar_url = serializers.CharField(allow_null=True)
    joined_at = serializers.DateTimeField(allow_null=True)
    left_at = serializers.DateTimeField(allow_null=True)


class PersonUserOut(serializers.Serializer[Any]):
    """The person across communities."""

    id = serializers.CharField()
    name = serializers.CharField(allow_null=True)
    username = serializers.CharField(help_text="By which staff sign in; made up for everybody else.")
    email = serializers.CharField(allow_null=True)
    is_active = serializers.BooleanField()
    is_staff = serializers.BooleanField()
    joined_at = serializers.DateTimeField()
    last_login_at = serializers.DateTimeField(allow_null=True)


class PersonIdentityOut(serializers.Serializer[Any]):
    """An account by which a platform, or this community, knows the person."""

    provider = serializers.ChoiceField(choices=Identity.Provider.values)
    platform_id = serializers.CharField()


class PersonKeyOut(serializers.Serializer[Any]):
    """An API key that the person made for this community."""

    id = serializers.CharField()
    name = serializers.CharField()
    description = serializers.CharField(allow_null=True)
    key_prefix = serializers.CharField()
    role = serializers.ChoiceField(
        choices=ApiKey.Restriction.values, allow_null=True, help_text="To which it is restricted."
    )
    created_at = serializers.DateTimeField()
    last_used_at = serializers.DateTimeField(allow_null=True)
    expires_at = serializers.DateTimeField(allow_null=True)
    revoked_at = serializers.DateTimeField(allow_null=True)


class PersonProjectOut(serializers.Serializer[Any]):
    """A project that the person made."""

    id = serializers.CharField()
    name = serializers.CharField()


class ParticipationOut(serializers.Serializer[Any]):
    """What is remembered of the person's part in a project, apart from answers."""

    project_id = serializers.CharField()
    project_name = serializers.CharField(allow_null=True)
    completions = serializers.IntegerField(min_value=0, help_text="Counted towards the limit.")
    sessions = serializers.IntegerField(
        min_value=0, help_text="Ever completed; not fewer when a response is deleted."
    )
    actions = serializers.ListField(
        child=serializers.CharField(), help_text="What was given once, so that it is not given again."
    )


class PersonStandingOut(serializers.Serializer[Any]):
    """What the person's ledger comes to."""

    xp_total = serializers.IntegerField(min_value=0)
    xp_monthly = serializers.IntegerField()
    participation = serializers.IntegerField(min_value=0)


class RoleGrantOut(serializers.Serializer[Any]):
    """A role on the chat platform that the person earned."""

    role_id = serializers.CharField()
    project_id = serializers.CharField(allow_null=True)
    project_name = serializers.CharField(allow_null=True)
    created_at = serializers.DateTimeField()
    carried_out_at = serializers.DateTimeField(allow_null=True, help_text="Null while it waits.")


class PersonWebhookEventOut(serializers.Serializer[Any]):
    """What webhooks were told, or are still to be told, and names the person."""

    id = serializers.UUIDField()
    type = serializers.CharField(help_text="As in a webhook's `events`.")
    created_at = serializers.DateTimeField()
    data = serializers.DictField(  # type: ignore[assignment]  # the interface's word, and DRF's own
        allow_null=True, help_text="As in what is sent; null once it is forgotten, after 30 days."
    )


class PersonOut(serializers.Serializer[Any]):
    """Everything that a community holds about a person."""

    member = PersonMemberOut()
    user = PersonUserOut()
    set_up_the_community = serializers.BooleanField(help_text="Whether they last completed its setup.")
    identities = PersonIdentityOut(many=True)
    api_keys = PersonKeyOut(many=True)
    projects = PersonProjectOut(many=True)
    participation = ParticipationOut(many=True)
    standing = PersonStandingOut()
    achievements = EarnedAchievementOut(many=True)
    roles = RoleGrantOut(many=True)
    entries_for_others = serializers.IntegerField(
        min_value=0, help_text="How often they gave or took XP of other members by hand."
    )
    xp_ledger = XpEntryOut(many=True, help_text="Newest first.")
    responses = ResponseOut(
        many=True, help_text="Project after project, oldest first; also those without an answer yet."
    )
    webhook_events = PersonWebhookEventOut(many=True, help_text="Oldest first.")


class PersonViewSet(CommunityViewSet):
    noun = "person"
    least_role = {
        "retrieve": Role.ADMIN,
        "destroy": Role.ADMIN,
    }

    @extend_schema(
        operation_id="members_data_get",
        tags=[TAG],
        summary="Read everything held about a person",
        description=(
            "Of a member, present or not, in this community alone; other communities tell what they hold. Of "
            "`anonymous` projects it tells how often the person completed them and what that gave, as nobody "
            "knows their answers. Not told are secrets, of which only digests are kept, and whom an "
            "unfinished anonymous conversation is with, which is kept encrypted for a day at most. All of it "
            "comes at once, without pages. Needs the role admin."
        ),
        responses=PersonOut,
        examples=[OpenApiExample("A person", EXAMPLE, response_only=True)],
    )
    def retrieve(self, request: Request, /, member_id: int, **kwargs: Any) -> HttpResponse:
        held = people.data_of(community_id=self.actor.community_id, member_id=member_id, at=self.at)
        return HttpResponse(b"".join(_drawn(held)), content_type=bodies.MEDIA_TYPE)

    @extend_schema(
        operation_id="members_data_erase",
        tags=[TAG],
        summary="Erase a person",
        description=(
            "For good. The answers stay, listed and counted, as those of a nameless respondent: `user_id`, "
            "`platform_id` and `session_number` of these responses become null, and an unfinished one stays "
            "partial. Everything else about the person in this community goes: the member, their XP, "
            "achievements and roles, their API keys, their names and accounts, and their name on the "
            "projects they made and on XP they gave to others, which stay. Somebody who is also a member of "
            "other communities stays so. What the person wrote in answers is not searched for names, "
            "what was answered under an Idempotency-Key is replayed for its 24 hours, and what webhooks have "
            "told stays told: only attempts after this send these fields as null. "
            "`409 conflict` for the person to whom the key that asks belongs. Needs the role admin."
        ),
        responses={204: None},
    )
    @once
    def destroy(self, request: Request, /, member_id: int, **kwargs: Any) -> Response:
        people.erase(community_id=self.actor.community_id, member_id=member_id, by_user_id=self.actor.user_id)
        transaction.on_commit(caller_cache.clear)  # at once in this process; in others within 5 seconds
        return Response(status=204)


def _drawn(held: PersonData) -> Iterator[bytes]:
    """The JSON object, in pieces: of a long history only the text is in memory, not a thing for each word."""
    yield wire.render(held.facts)[:-1]
    yield b',"xp_ledger":['
    yield from _listed(held.xp_ledger)
    yield b'],"responses":['
    yield from _listed(held.responses)
    yield b'],"webhook_events":['
    yield from _listed(held.webhook_events)
    yield b"]}"


def _listed(rows: Iterable[object]) -> Iterator[bytes]:
    for n, row in enumerate(rows):
        yield b"," + wire.render(row) if n else wire.render(row)
