"""Surveys and polls: listed, made, changed, opened, closed, copied (interface 4, decisions 5)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, NoReturn

from django.db.models.functions import Lower
from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from communities.actors import Role
from communities.errors import Conflict, InvalidRequest, refuse_all
from communities.http import idempotency
from communities.http.idempotency import Claim, once
from communities.http.views import CommunityViewSet
from surveys.api import examples
from surveys.api.project_shapes import (
    CloneIn,
    ListIn,
    NewProjectIn,
    NewProjectOut,
    OpenIn,
    ProjectIn,
    ProjectOut,
)
from surveys.api.refusals import TOO_FEW_CREDITS
from surveys.models import ProjectQuerySet
from surveys.services import generation, lookup
from surveys.services.projects import cloning, opening
from surveys.services.projects import service as projects
from surveys.services.projects.service import CreatedProject
from surveys.services.representations import script as script_json
from surveys.services.representations.project import project_as_json
from surveys.services.scripts import editing as scripts
from surveys.services.scripts import templates

TAG = "Projects"
_ORDER: Mapping[str, tuple[str | Lower, ...]] = {
    "created_at": ("created_at", "pk"),
    "-created_at": ("-created_at", "-pk"),
    "name": (Lower("name"), "pk"),
}
_changes = partial(
    extend_schema,
    tags=[TAG],
    request=ProjectIn,
    responses=ProjectOut,
    examples=[
        OpenApiExample("Another name and theme", examples.UPDATE_SENT, request_only=True),
        OpenApiExample("Changed", examples.UPDATED_PROJECT, response_only=True),
    ],
)


class OwnWorkViewSet(CommunityViewSet):
    """What a creator may do to their own projects, and an admin to any (decisions 2.2)."""

    def hide(self, *, project_id: int | None = None, **kwargs: Any) -> None:
        """A project that a role may not see is not found, whatever it wanted there (decisions 2.2)."""
        if project_id is not None:
            lookup.one(self.visible(), project_id)

    def visible(self) -> ProjectQuerySet:
        return lookup.visible(actor=self.actor, at=self.at)


class ProjectViewSet(OwnWorkViewSet):
    noun = "project"
    least_role = {
        "list": Role.MEMBER,
        "retrieve": Role.MEMBER,
        "create": Role.CREATOR,
        "update": Role.CREATOR,
        "partial_update": Role.CREATOR,
        "destroy": Role.CREATOR,
        "clone": Role.CREATOR,
        "open": Role.CREATOR,
        "close": Role.CREATOR,
    }

    @extend_schema(
        operation_id="projects_list",
        tags=[TAG],
        summary="List projects",
        description="Newest first, unless `sort` says otherwise. A member's key sees active projects alone.",
        parameters=[ListIn],
        responses=ProjectOut(many=True),
        examples=[OpenApiExample("One project", examples.PROJECT, response_only=True)],
    )
    def list(self, request: Request) -> Response:
        query = self.query(ListIn)
        found = _filtered(self.visible(), query, live=self.visible().live_at(self.at))
        ordered = found.order_by(*_ORDER[query["sort"]])
        rows = partial(lookup.load_page, ordered)
        return self.page(rows, query, as_json=self._told, total=found.count())

    def _prepare_script(self, claim: Claim | None) -> generation.Prepared | None:
        """Have AI write the script of a project with an `intent`, and wait for it."""
        if self.body.get("intent") is None or idempotency.is_settled(claim):
            return None
        return generation.prepare(
            actor=self.actor,
            fields=self._read_new(),
            claim=claim.key if claim else None,
            fingerprint=claim.fingerprint if claim else "",
            is_answered=partial(idempotency.is_settled, claim),
            at=self.at,
        )

    @extend_schema(
        operation_id="projects_create",
        tags=[TAG],
        summary="Create a project",
        description=(
            "Makes an inactive project with the `script` sent, that of a `template`, one that AI makes "
            "from an `intent`, or an empty one. All that is wrong with the fields and with the script is "
            "told at once. A new poll allows one vote for each person, unless `max_completes_per_user` "
            "says otherwise. The service makes the outro: thanks in the words of the community's "
            "`thank_you_type`, and a block for each of the `rewards`.\n\n"
            "With an `intent` the request waits for the script, up to 60 seconds, and less where many "
            "wait at once. If that is not enough, `script` is null and `generation.status` `pending`: "
            "read the project again until it is `completed`, or `failed`, which leaves the project empty "
            "and gives the credits back. A retry with the same `Idempotency-Key` joins the work that is "
            "going on. Where the intent needs points, as a quiz does, and nothing is said about scoring, "
            "scoring is enabled. Too few credits are `402 payment_required`; a provider that fails, or "
            "writes nothing valid when told twice what was wrong, is `503 unavailable`: no project is "
            "left and no credits are taken. The `local` provider, which fills the best of the templates, "
            "is free."
        ),
        request=NewProjectIn,
        responses={201: NewProjectOut, 402: TOO_FEW_CREDITS},
        examples=[
            OpenApiExample("A survey with its script", examples.NEW_PROJECT_SENT, request_only=True),
            OpenApiExample("From an intent", examples.INTENT_SENT, request_only=True),
            OpenApiExample("From a template", examples.TEMPLATE_SENT, request_only=True),
            OpenApiExample("Created", examples.NEW_PROJECT, response_only=True, status_codes=["201"]),
            OpenApiExample(
                "Its script is still being made",
                examples.PENDING_PROJECT,
                response_only=True,
                status_codes=["201"],
            ),
        ],
    )
    @once(prepare=_prepare_script)
    def create(self, request: Request, *, prepared: generation.Prepared | None) -> Response:
        if prepared is not None:
            made = generation.create_project(prepared=prepared, at=self.at)
            return self._told_new(
                made.created, credits_used=made.credits_used, has_script=not made.is_pending
            )
        fields = self._read_new()
        if fields.get("intent") is not None:  # its answer was stored a moment ago, and has expired since
            raise Conflict("The answer to this Idempotency-Key has just expired.", retry_after=1)
        fields, script = _with_template(fields)
        created = projects.create_project(
            actor=self.actor,
            fields=fields,
            script=script,
            at=self.at,
        )
        self.ignore(created.ignored)
        return self._told_new(created)

    def _read_new(self) -> dict[str, Any]:
        try:
            return self.read(NewProjectIn)
        except InvalidRequest as refused:
            _refuse_with_faults_of_script(refused, self.body)

    def _told_new(
        self, created: CreatedProject, *, credits_used: int = 0, has_script: bool = True
    ) -> Response:
        script = script_json.serialize(created.project, created.script) if has_script else None
        told = {**self._told(created.project), "script": script, "credits_used": credits_used}
        return Response(told, status=201)

    @extend_schema(
        operation_id="projects_get",
        tags=[TAG],
        summary="Read a project",
        description=(
            "`status` is what holds at the moment of the answer, whether or not the scheduler has ticked."
        ),
        responses=ProjectOut,
        examples=[OpenApiExample("A project", examples.PROJECT, response_only=True)],
    )
    def retrieve(self, request: Request, project_id: int) -> Response:
        project = lookup.one(self.visible().for_telling(), project_id)
        return Response(self._told(project))

    @_changes(
        operation_id="projects_put",
        summary="Change a project",
        description=(
            "Changes the fields that are sent, as `PATCH` does. A group sent as an object changes the "
            "fields in it, nested groups alike; `null` clears `delivery`, `rewards`, `presentation`, "
            "`scoring` and the invitation. What was read can be sent back. `type` never changes. "
            "`privacy_mode` cannot change once there are responses, nor scoring while the project is "
            "active: `409 conflict`. `rewards` may change at any time, and the outro follows: its blocks "
            "come and go, and those that stay keep their edited words. On the basic tier four fields of the "
            "invitation are `403 tier_required`."
        ),
    )
    @once
    def update(self, request: Request, project_id: int) -> Response:
        return self._update(project_id)

    @_changes(
        operation_id="projects_patch",
        summary="Change some fields of a project",
        description="The same as `PUT`: the fields that are sent change, the others stay.",
    )
    @once
    def partial_update(self, request: Request, project_id: int) -> Response:
        return self._update(project_id)

    def _update(self, project_id: int) -> Response:
        project = projects.update_project(
            actor=self.actor,
            project_id=project_id,
            fields=self.read(ProjectIn, partial=True),
            at=self.at,
        )
        return Response(self._told(project))

    @extend_schema(
        operation_id="projects_delete",
        tags=[TAG],
        summary="Delete a project",
        description="With its script and all its responses. An active one is `409 conflict`: close it first.",
        responses={204: None},
    )
    @once
    def destroy(self, request: Request, project_id: int) -> Response:
        projects.delete_project(actor=self.actor, project_id=project_id, at=self.at)
        return Response(status=204)

    @extend_schema(
        operation_id="projects_open",
        tags=[TAG],
        summary="Open a project",
        description=(
            "Lets respondents in. `delivery` is merged as by `PATCH`; if none was ever set, the defaults are "
            "written down: `private`, `web`, and `manual` for both modes. With `opening.mode` `scheduled` and"
            " a future time the project stays `inactive` until then, and `info.scheduled_open_at` shows "
            "it. An open or pending project, or one without a question, is `409 conflict`; so is "
            "`response_channel` `chat` while no chat platform is connected. `chat` without "
            "`invitation.post_channel_id` is `400 channel_required`."
        ),
        request=OpenIn,
        responses=ProjectOut,
        examples=[
            OpenApiExample("To anyone, until a day in March", examples.DELIVERY_SENT, request_only=True),
            OpenApiExample("Open", examples.OPEN_PROJECT, response_only=True),
        ],
    )
    @once
    def open(self, request: Request, project_id: int) -> Response:
        project = opening.open_project(
            actor=self.actor,
            project_id=project_id,
            fields=self.read(OpenIn, partial=True),
            at=self.at,
        )
        return Response(self._told(project))

    @extend_schema(
        operation_id="projects_close",
        tags=[TAG],
        summary="Close a project",
        description=(
            "Lets nobody in any more; takes a pending opening back. An inactive project is `409 conflict`."
        ),
        request=None,
        responses=ProjectOut,
        examples=[OpenApiExample("Closed", examples.PROJECT, response_only=True)],
    )
    @once
    def close(self, request: Request, project_id: int) -> Response:
        project = opening.close_project(actor=self.actor, project_id=project_id, at=self.at)
        return Response(self._told(project))

    @extend_schema(
        operation_id="projects_clone",
        tags=[TAG],
        summary="Copy a project",
        description=(
            "Copies script, settings, scoring and presentation into a new inactive project of the key's "
            "community, never responses, delivery or rewards. Numbers of achievements and roles in action "
            "blocks are copied too, and mean those of the key's community. Another community's project can "
            "be copied while it is cloneable; otherwise it is `404 not_found`."
        ),
        request=CloneIn,
        responses={201: ProjectOut},
        examples=[
            OpenApiExample("With a name", {"name": "Opening moves, second round"}, request_only=True),
            OpenApiExample(
                "The copy",
                examples.PROJECT | {"id": "8", "name": "Opening moves, second round"},
                response_only=True,
                status_codes=["201"],
            ),
        ],
    )
    @once
    def clone(self, request: Request, project_id: int) -> Response:
        project = cloning.clone_project(
            actor=self.actor,
            project_id=project_id,
            name=self.read(CloneIn).get("name"),
            at=self.at,
        )
        return Response(self._told(project), status=201)

    def _told(self, project: Any) -> dict[str, object]:
        return project_as_json(project, at=self.at)


def _filtered(found: ProjectQuerySet, query: Mapping[str, Any], *, live: ProjectQuerySet) -> ProjectQuerySet:
    if query.get("status") == "active":
        found = live
    elif query.get("status") == "inactive":
        found = found.exclude(pk__in=live.values("pk"))
    if "type" in query:
        found = found.filter(type=query["type"])
    if "author_id" in query:
        found = found.filter(author_id=query["author_id"])
    if "search" in query:
        found = found.filter(name__icontains=query["search"])
    return found


def _with_template(fields: dict[str, Any]) -> tuple[dict[str, Any], object]:
    """The fields with what a template that they name sets, and the script, which may be the template's."""
    if fields.get("template") is None:
        return fields, fields.get("script")
    draft = templates.draft(fields["template"], type=fields["type"])
    if draft.scoring_enabled and "scoring_enabled" not in fields and "scoring" not in fields:
        fields = {**fields, "scoring_enabled": True}
    return fields, {"blocks": draft.blocks}


def _refuse_with_faults_of_script(refused: InvalidRequest, body: Mapping[str, Any]) -> NoReturn:
    """Refuse the fields again, with the violations of the script beside theirs."""
    faults = scripts.faults_of_new(body.get("script"), is_poll=body.get("type") == "poll")
    refuse_all([*refused.violations, *faults])
