"""Endpoints to read and to erase the personal data of a member (rules 1.32, 7.5, 7.17 and 7.18)."""

from __future__ import annotations

from typing import Any

from django.db import transaction
from django.http import StreamingHttpResponse
from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from communities.gate import bodies
from communities.gate.authentication import caller_cache
from communities.gate.idempotency import once
from communities.gate.views import CommunityViewSet
from communities.ground import wire
from communities.ground.actors import Role
from communities.models import ApiKey, Identity, Member, ProjectGrant
from surveys.api.conversation_examples import RESPONSE
from surveys.api.responses import ResponseOut
from surveys.models import Generation, Job
from surveys.services.people import service as people
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
        "attributes": {"team": "North"},
    },
    "user": {
        "id": "52",
        "name": "Marit Solberg",
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
    "project_access": [{"project_id": "7", "level": "edit"}],
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
            "state": "waiting",
        }
    ],
    "entries_for_others": 2,
    "script_requests": [
        {
            "project_id": "7",
            "kind": "script",
            "intent": "Ask which openings our players like",
            "status": "completed",
            "created_at": "2026-01-31T09:25:00Z",
        }
    ],
    "script_drafts": [
        {
            "project_id": "7",
            "project_name": "Opening moves",
            "saved_at": "2026-01-31T09:30:00Z",
            "blocks": [{"type": "open_text", "prompt": "Which opening do you like?"}],
        }
    ],
    "xp_ledger": [ENTRY_EXAMPLE],
    "responses": [RESPONSE],
    "webhook_events": [
        {
            "id": "3b8a4c52-9f0e-4a57-8c1d-6e2f7a9b0c3d",
            "type": "response.submitted",
            "created_at": RESPONSE["submitted_at"],
            "data": {"project_id": RESPONSE["project_id"], "response_id": RESPONSE["id"]},
        }
    ],
    "audit_entries": [
        {
            "id": "019bfc1e-7d4a-7c53-9d0e-2f6a1b3c4d5e",
            "happened_at": "2026-01-31T09:30:00Z",
            "action": "project.opened",
            "is_by_them": True,
            "key_prefix": "cq_live_k3Jq0b",
            "object_type": "project",
            "object_id": "7",
            "object_name": "Opening moves",
        }
    ],
}


class PersonMemberOut(serializers.Serializer[Any]):
    """The person's membership of the community."""

    id = serializers.CharField()
    community_id = serializers.CharField()
    user_id = serializers.CharField()
    access = serializers.ChoiceField(choices=Member.Access.values)
    nick = serializers.CharField(allow_null=True)
    avatar_url = serializers.CharField(allow_null=True)
    joined_at = serializers.DateTimeField(allow_null=True)
    left_at = serializers.DateTimeField(allow_null=True)
    attributes = serializers.DictField(
        child=serializers.CharField(), help_text="Values that staff entered for fields of surveys."
    )


class PersonUserOut(serializers.Serializer[Any]):
    """The person. Their mail address and sign-ins are left out, because the community may not read them."""

    id = serializers.CharField()
    name = serializers.CharField(allow_null=True)


class PersonIdentityOut(serializers.Serializer[Any]):
    """The person's id on a platform or in this community."""

    provider = serializers.ChoiceField(choices=Identity.Provider.values)
    platform_id = serializers.CharField()


class PersonKeyOut(serializers.Serializer[Any]):
    """An API key that the person created for this community."""

    id = serializers.CharField()
    name = serializers.CharField()
    description = serializers.CharField(allow_null=True)
    key_prefix = serializers.CharField()
    role = serializers.ChoiceField(
        choices=ApiKey.Restriction.values,
        allow_null=True,
        help_text="The role that the key is restricted to.",
    )
    created_at = serializers.DateTimeField()
    last_used_at = serializers.DateTimeField(allow_null=True)
    expires_at = serializers.DateTimeField(allow_null=True)
    revoked_at = serializers.DateTimeField(allow_null=True)


class PersonProjectOut(serializers.Serializer[Any]):
    """A project that the person created."""

    id = serializers.CharField()
    name = serializers.CharField()


class ParticipationOut(serializers.Serializer[Any]):
    """How often the person took part in a project and what they received for it, stored apart from
    answers.
    """

    project_id = serializers.CharField()
    project_name = serializers.CharField(allow_null=True)
    completions = serializers.IntegerField(min_value=0, help_text="Counts towards `max_completes_per_user`.")
    sessions = serializers.IntegerField(
        min_value=0, help_text="Sessions ever completed; deleting a response does not reduce it."
    )
    actions = serializers.ListField(
        child=serializers.CharField(),
        help_text="Actions that gave a reward, and do not give this reward again.",
    )


class PersonStandingOut(serializers.Serializer[Any]):
    """Totals of the person's XP ledger."""

    xp_total = serializers.IntegerField(min_value=0)
    xp_monthly = serializers.IntegerField()
    participation = serializers.IntegerField(min_value=0)


class RoleGrantOut(serializers.Serializer[Any]):
    """A chat platform role that the person earned."""

    role_id = serializers.CharField()
    project_id = serializers.CharField(allow_null=True)
    project_name = serializers.CharField(allow_null=True)
    created_at = serializers.DateTimeField()
    carried_out_at = serializers.DateTimeField(
        allow_null=True, help_text="Null until it is granted on the platform."
    )
    state = serializers.ChoiceField(
        choices=["granted", "waiting", "refused", "skipped"],
        help_text="`refused` by the platform or our checks; `skipped` where the member has left the server.",
    )


class PersonScriptRequestOut(serializers.Serializer[Any]):
    """A text that AI writes, or has just written, for a person in the admin.

    The text is a script, a changed script, or an answer about results.
    """

    project_id = serializers.CharField()
    kind = serializers.ChoiceField(choices=Generation.Kind.values)
    intent = serializers.CharField(help_text="As the person typed it; also an instruction or a question.")
    status = serializers.ChoiceField(choices=Job.Status.values)
    created_at = serializers.DateTimeField()


class PersonDraftOut(serializers.Serializer[Any]):
    """A script that the person has edited in the admin and not saved."""

    project_id = serializers.CharField()
    project_name = serializers.CharField()
    saved_at = serializers.DateTimeField()
    blocks = serializers.ListField(
        child=serializers.DictField(), help_text="Blocks as the person typed them. They may have faults."
    )


class PersonWebhookEventOut(serializers.Serializer[Any]):
    """A webhook event that names the person, sent or still to be sent."""

    id = serializers.UUIDField()
    type = serializers.CharField(help_text="As in a webhook's `events`.")
    created_at = serializers.DateTimeField()
    data = serializers.DictField(  # type: ignore[assignment]  # the name is public, and hides DRF's `data`
        allow_null=True, help_text="As sent to the webhook; deleted after 30 days, and null from then on."
    )


class PersonAuditEntryOut(serializers.Serializer[Any]):
    """An entry of the audit trail by the person or about the person."""

    id = serializers.UUIDField()
    happened_at = serializers.DateTimeField()
    action = serializers.CharField()
    is_by_them = serializers.BooleanField()
    key_prefix = serializers.CharField(
        allow_null=True, help_text="The prefix of the API key that the person used, if any."
    )
    object_type = serializers.CharField()
    object_id = serializers.CharField(allow_null=True, help_text="Null if the object is another person.")
    object_name = serializers.CharField(allow_null=True, help_text="The name at the time of the entry.")


class PersonAccessOut(serializers.Serializer[Any]):
    """What the person may do in the admin with a project beyond their role."""

    project_id = serializers.CharField(allow_null=True, help_text="Null means every project.")
    level = serializers.ChoiceField(choices=ProjectGrant.Level.values)


class PersonOut(serializers.Serializer[Any]):
    """All the data that a community stores about a person."""

    member = PersonMemberOut()
    user = PersonUserOut()
    set_up_the_community = serializers.BooleanField(
        help_text="Whether the person last completed the community's setup."
    )
    identities = PersonIdentityOut(many=True)
    api_keys = PersonKeyOut(many=True)
    project_access = PersonAccessOut(many=True)
    projects = PersonProjectOut(many=True)
    participation = ParticipationOut(many=True)
    standing = PersonStandingOut()
    achievements = EarnedAchievementOut(many=True)
    roles = RoleGrantOut(many=True)
    entries_for_others = serializers.IntegerField(
        min_value=0, help_text="How often the person adjusted the XP of other members by hand."
    )
    script_requests = PersonScriptRequestOut(
        many=True, help_text="Oldest first; deleted ten minutes after the work was done or failed."
    )
    script_drafts = PersonDraftOut(many=True, help_text="By project; deleted after 90 days without a change.")
    xp_ledger = XpEntryOut(many=True, help_text="Newest first.")
    responses = ResponseOut(
        many=True, help_text="By project, oldest first; includes responses without an answer yet."
    )
    webhook_events = PersonWebhookEventOut(many=True, help_text="Oldest first.")
    audit_entries = PersonAuditEntryOut(many=True, help_text="Newest first.")


class PersonViewSet(CommunityViewSet):
    noun = "person"
    least_role = {
        "retrieve": Role.ADMIN,
        "destroy": Role.ADMIN,
    }

    @extend_schema(
        operation_id="members_data_get",
        tags=[TAG],
        summary="Read all data stored about a person",
        description=(
            "Returns all data that this community stores about a current or former member, in one "
            "response. The data does not include sign-ins, secrets, and answers to anonymous projects. "
            "[What is left out](/docs/details#read-all-data-stored-about-a-person)."
        ),
        responses=PersonOut,
        examples=[OpenApiExample("A person", EXAMPLE, response_only=True)],
    )
    def retrieve(self, request: Request, /, member_id: int, **kwargs: Any) -> StreamingHttpResponse:
        data = people.data_of(actor=self.actor, member_id=member_id, at=self.at)
        pieces = wire.render_in_pieces(data.facts, data.histories)
        return StreamingHttpResponse(pieces, content_type=bodies.MEDIA_TYPE)

    @extend_schema(
        operation_id="members_data_erase",
        tags=[TAG],
        summary="Erase a person",
        description=(
            "Erases a person permanently: the member, their XP, achievements, roles, API keys, drafts, "
            "names and accounts. Their answers stay, without a name. Data of anonymous projects does not "
            "change. The response is `409 conflict` if the API key of the request belongs to this person. "
            "[What stays](/docs/details#erase-a-person)."
        ),
        responses={204: None},
    )
    @once
    def destroy(self, request: Request, /, member_id: int, **kwargs: Any) -> Response:
        people.erase(actor=self.actor, member_id=member_id, at=self.at)
        # So that the erasure is effective here at once even while Redis is down
        transaction.on_commit(caller_cache.clear)
        return Response(status=204)
