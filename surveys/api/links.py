"""Endpoints for personal links: creating, listing, exporting and revoking them (rule 6.4)."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from django.http import StreamingHttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiExample, OpenApiResponse, PolymorphicProxySerializer, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from communities.gate.downloads import download
from communities.gate.fields import StrictListField, StrictTextField
from communities.gate.idempotency import once
from communities.gate.pagination import PageIn
from communities.ground.actors import Actor, Role
from communities.ground.errors import refuse
from communities.ground.slots import of_community
from surveys.api.exports import XLSX
from surveys.api.link_examples import CREATED, CREATED_MANY, LISTED
from surveys.api.metadata import Metadata
from surveys.api.projects import OwnWorkViewSet
from surveys.models import PersonalLink, Project
from surveys.services.links import addresses, fields, files
from surveys.services.links import service as links
from surveys.services.links.service import WantedLink

TAG = "Personal links"


_METADATA = (
    "Up to 20 texts, which become `metadata` of the Response, with the same limits. Anonymous projects "
    "refuse metadata."
)


class LinkIn(serializers.Serializer[Any]):
    """One of many links, with its metadata."""

    member_id = StrictTextField(allow_blank=False, max_length=40, help_text="The id of a present member.")
    metadata = Metadata(required=False, allow_null=True, help_text=_METADATA)


class LinksIn(serializers.Serializer[Any]):
    """One member, or many at once."""

    member_id = StrictTextField(
        required=False, allow_blank=False, max_length=40, help_text="The id of a present member."
    )
    member_ids = StrictListField(
        child=StrictTextField(allow_blank=False, max_length=40),
        required=False,
        min_length=1,
        max_length=links.MOST_AT_ONCE,
        help_text="The ids of present members, each once.",
    )
    links = StrictListField(
        child=LinkIn(),
        required=False,
        min_length=1,
        max_length=links.MOST_AT_ONCE,
        help_text="Present members, each once, with the metadata of their links.",
    )
    metadata = Metadata(
        required=False,
        allow_null=True,
        help_text=(
            f"{_METADATA} With `member_ids`, all links get the same metadata. Not allowed with `links`."
        ),
    )


class Carried(serializers.DictField):
    """The metadata of a link."""

    child = serializers.CharField()

    def __init__(self) -> None:
        super().__init__(
            allow_null=True,
            help_text=(
                "The metadata of the link. Only admins and the link's creator see metadata; otherwise null."
            ),
        )


class NewLinkOut(serializers.Serializer[Any]):
    """A new link. Only this response and the export contain `url`."""

    id = serializers.UUIDField()
    member_id = serializers.CharField()
    url = serializers.CharField(help_text="The address. Anybody who has it can answer in the member's name.")
    expires_at = serializers.DateTimeField(help_text="30 days after the creation of the link.")
    metadata = Carried()


class NewLinksOut(serializers.Serializer[Any]):
    """The links, in the order of `member_ids`."""

    data = NewLinkOut(many=True)  # type: ignore[assignment]


class LinkOut(serializers.Serializer[Any]):
    """A personal link, without its address."""

    id = serializers.UUIDField()
    member_id = serializers.CharField()
    name = serializers.CharField(allow_null=True, help_text="The member's name now.")
    created_at = serializers.DateTimeField()
    expires_at = serializers.DateTimeField()
    revoked_at = serializers.DateTimeField(allow_null=True)
    used_at = serializers.DateTimeField(
        allow_null=True,
        help_text=(
            "When the link was first opened or used to answer; previews and mail scanners do not count. "
            "Always null on anonymous projects."
        ),
    )
    mailed_at = serializers.DateTimeField(allow_null=True, help_text="When the service last mailed the link.")
    metadata = Carried()


class LinkExportIn(serializers.Serializer[Any]):
    """The kind of file."""

    format = serializers.ChoiceField(choices=files.FORMATS, default="csv")
    bom = serializers.ChoiceField(
        choices=["0", "1"],
        default="0",
        help_text="`1` begins a `csv` with a byte order mark, so that Excel reads the file as UTF-8.",
    )


class LinkViewSet(OwnWorkViewSet):
    noun = "link"
    least_role = {
        "list": Role.CREATOR,
        "create": Role.CREATOR,
        "export": Role.CREATOR,
        "destroy": Role.CREATOR,
        "revoke": Role.CREATOR,
    }

    @extend_schema(
        operation_id="links_list",
        tags=[TAG],
        summary="List personal links",
        description=(
            "Returns the links, newest first, including expired and revoked ones, without their addresses. "
            "Anybody who has an address can answer as the member. Only the export contains the addresses, "
            "and the audit trail records each export."
        ),
        parameters=[PageIn],
        responses=LinkOut(many=True),
        examples=[OpenApiExample("One link", LISTED, response_only=True)],
    )
    def list(self, request: Request, /, project_id: int, **kwargs: Any) -> Response:
        project = links.require_owner(actor=self.actor, project_id=project_id)
        query = self.query(PageIn)
        rows = links.with_names(links.of_project(project=project))
        return self.page(rows, query, as_json=lambda link: _as_json(link, project, self.actor))

    @extend_schema(
        operation_id="links_create",
        tags=[TAG],
        summary="Create personal links",
        description=(
            "Creates an address that admits one member to this project on the web, without signing in, for "
            "30 days or until the link is revoked. Send `member_id` for one link. For many links, send "
            "`member_ids` (1 to 1,000), or `links` if each link has its own `metadata`, which its Response "
            "gets. Anonymous projects refuse metadata. If one id is repeated or does not belong to a "
            "present member, no link is created. No mail is sent. [What links open and "
            "carry](/docs/details#create-personal-links)."
        ),
        request=LinksIn,
        responses={
            201: PolymorphicProxySerializer(
                "CreatedLinks", [NewLinkOut, NewLinksOut], resource_type_field_name=None, many=False
            )
        },
        examples=[
            OpenApiExample("For one member", {"member_id": "52"}, request_only=True),
            OpenApiExample("For many", {"member_ids": ["52"]}, request_only=True),
            OpenApiExample(
                "With what it carries along",
                {"member_id": "52", "metadata": {"customer": "C-1042"}},
                request_only=True,
            ),
            OpenApiExample(
                "For many, each with its own",
                {"links": [{"member_id": "52", "metadata": {"customer": "C-1042"}}]},
                request_only=True,
            ),
            OpenApiExample("One", CREATED, response_only=True, status_codes=["201"]),
            OpenApiExample("Many", CREATED_MANY, response_only=True, status_codes=["201"]),
        ],
    )
    @once
    def create(self, request: Request, /, project_id: int, **kwargs: Any) -> Response:
        links.require_owner(actor=self.actor, project_id=project_id)  # before the body is checked
        wanted = _wanted(self.read(LinksIn))
        created = links.create(actor=self.actor, project_id=project_id, wanted=wanted, at=self.at)
        told = [_new_as_json(link, self.actor) for link in created]
        is_one = wanted[0].path == "member_id"
        return Response(told[0] if is_one else {"data": told}, status=201)

    @extend_schema(
        operation_id="links_export",
        tags=[TAG],
        summary="Export personal links",
        description=(
            "Returns all valid links of present members, oldest first, as a file with `member_id`, `name`, "
            "`email` (as staff entered it), `url`, `expires_at`, `id` and `metadata` (as JSON). Texts that "
            "look like formulas get an apostrophe in front."
        ),
        parameters=[LinkExportIn],
        responses={
            (200, "text/csv"): OpenApiResponse(OpenApiTypes.STR, description="The file."),
            (200, XLSX): OpenApiResponse(OpenApiTypes.BINARY, description="The file."),
        },
    )
    def export(self, request: Request, /, project_id: int, **kwargs: Any) -> StreamingHttpResponse:
        project = links.require_owner(actor=self.actor, project_id=project_id)
        query = self.query(LinkExportIn)
        made = files.export(
            actor=self.actor,
            project=project,
            format=query["format"],
            at=self.at,
            with_bom=query["bom"] == "1",
        )
        response = download(request, made, owner=of_community(self.actor.community_id))
        if request.method == "GET":
            files.note_export(actor=self.actor, project=project, format=query["format"], at=self.at)
        return response

    @extend_schema(
        operation_id="links_revoke",
        tags=[TAG],
        summary="Revoke a personal link",
        description=(
            "Revokes the link: it admits nobody any more. A person who is answering by the link sees that "
            "it was revoked; earlier answers stay. A second revocation changes nothing."
        ),
        responses={204: None},
    )
    @once
    def destroy(self, request: Request, /, project_id: int, link_id: uuid.UUID, **kwargs: Any) -> Response:
        links.revoke(actor=self.actor, project_id=project_id, link_id=link_id, at=self.at)
        return Response(status=204)

    @extend_schema(
        operation_id="links_revoke_by_id",
        tags=[TAG],
        summary="Revoke a personal link by its id",
        description="Revokes a link by its id alone, without the id of its project.",
        responses={204: None},
    )
    @once
    def revoke(self, request: Request, /, link_id: uuid.UUID, **kwargs: Any) -> Response:
        links.revoke(actor=self.actor, link_id=link_id, at=self.at)
        return Response(status=204)


def _wanted(body: Mapping[str, Any]) -> Sequence[WantedLink]:
    """The requested links of a body. Refuses a body that requests no links, or requests them in two ways."""
    ways = [name for name in ("member_id", "member_ids", "links") if name in body]
    if len(ways) != 1:
        code = "conflicting" if ways else "required"
        refuse("member_id", code, "Send one of `member_id`, `member_ids` and `links`.")
    shared = body.get("metadata") or {}
    if ways == ["links"]:
        if shared:
            refuse("metadata", "conflicting", "Send `metadata` with each of the `links`.")
        return [
            WantedLink(
                each["member_id"],
                each.get("metadata") or {},
                path=f"links[{n}].member_id",
                metadata_path=f"links[{n}].metadata",
            )
            for n, each in enumerate(body["links"])
        ]
    if ways == ["member_id"]:
        return [WantedLink(body["member_id"], shared)]
    return [WantedLink(each, shared, path=f"member_ids[{n}]") for n, each in enumerate(body["member_ids"])]


def _as_json(link: PersonalLink, project: Project, actor: Actor) -> Mapping[str, object]:
    return {
        "id": str(link.pk),
        "member_id": str(link.member_id),
        "name": link.member.nick or link.member.user.name or None,
        "created_at": link.created_at,
        "expires_at": link.expires_at,
        "revoked_at": link.revoked_at,
        "used_at": links.used_at(link, project),
        "mailed_at": link.mailed_at,
        "metadata": fields.readable_metadata(link, project, actor=actor),
    }


def _new_as_json(link: PersonalLink, actor: Actor) -> Mapping[str, object]:
    return {
        "id": str(link.pk),
        "member_id": str(link.member_id),
        "url": addresses.url_of(project=link.project, link_id=link.pk),
        "expires_at": link.expires_at,
        "metadata": fields.readable_metadata(link, link.project, actor=actor),
    }
