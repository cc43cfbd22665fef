"""Endpoints for surveys and polls: list, create, change, open, close and copy (chapter 2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Any, NoReturn

from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from communities.gate import idempotency
from communities.gate.idempotency import Claim, once
from communities.gate.pagination import page_after
from communities.gate.views import SAFE_METHODS, CommunityViewSet
from communities.ground.actors import Role
from communities.ground.errors import Conflict, InvalidRequest, NotFound, refuse, refuse_all
from surveys.api import examples
from surveys.api.blocks import ref
from surveys.api.project_in import CloneIn, ListIn, NewProjectIn, OpenIn, ProjectIn
from surveys.api.project_out import NewProjectOut, ProjectOut
from surveys.api.refusals import TOO_FEW_CREDITS
from surveys.models import ProjectQuerySet
from surveys.services.ai_work import from_intent
from surveys.services.ground import access, lookup
from surveys.services.projects import cloning, listing, opening, removal, server_rules
from surveys.services.projects import service as projects
from surveys.services.projects.service import CreatedProject
from surveys.services.representations import script as script_json
from surveys.services.representations.project import project_as_json
from surveys.services.results import cache
from surveys.services.scripts import planning, templates

TAG = "Projects"
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


def once_arguments(claim: Claim | None, *, at: datetime) -> dict[str, Any]:
    """The Idempotency-Key of the request, in the form that work for a model needs."""
    return {
        "claim": claim.key if claim else None,
        "fingerprint": claim.fingerprint if claim else "",
        "is_answered": partial(idempotency.is_settled, claim, at=at),
    }


def _look_at_server(view: OwnWorkViewSet, claim: Claim | None) -> None:
    """Ask the chat platform about the server whose roles and channels are named, before the transaction."""
    if idempotency.is_settled(claim, at=view.at):
        return
    community_id, fields = view.actor.community_id, view.body
    if view.action == "open":
        project_id = view.kwargs["project_id"]
        server_rules.look_to_open(community_id=community_id, project_id=project_id, fields=fields, at=view.at)
    else:
        server_rules.look(community_id=community_id, fields=fields, at=view.at)


class OwnWorkViewSet(CommunityViewSet):
    """Base of project endpoints. Creators may change their own projects, admins any (rule 1.28)."""

    def hide(self, *, project_id: int | None = None, **kwargs: Any) -> None:
        """Raise NotFound for every operation on a project that the actor may not see (rule 1.33)."""
        if project_id is not None:
            lookup.seen(actor=self.actor, project_id=project_id, at=self.at)

    def find(self, *, project_id: int | None = None, **kwargs: Any) -> None:
        if project_id is None:
            return
        project = lookup.seen(actor=self.actor, project_id=project_id, at=self.at)
        if self.request.method not in SAFE_METHODS:
            access.require_editor(actor=self.actor, project=project)

    def lock(self, **kwargs: Any) -> None:
        lookup.lock(actor=self.actor, project_id=kwargs["project_id"])

    def visible(self) -> ProjectQuerySet:
        return lookup.visible(actor=self.actor, at=self.at)


class ProjectViewSet(OwnWorkViewSet):
    of_conversations = frozenset({"list", "retrieve"})
    figures = frozenset({"info.completion_count", "info.response_count"})
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

    def find(self, **kwargs: Any) -> None:
        if self.action == "clone":
            cloning.original(actor=self.actor, project_id=kwargs["project_id"], at=self.at)
        else:
            super().find(**kwargs)

    @extend_schema(
        operation_id="projects_list",
        tags=[TAG],
        summary="List projects",
        description=(
            "Returns the projects, by default in the order of ids. A member's key sees only active "
            "projects. To keep a copy, read all projects without `sort`, with the last id as `after`. "
            "Later, read the changed projects with `updated_after`, set to a minute before your last "
            "reading. The event `project.deleted` names deleted projects."
        ),
        parameters=[ListIn],
        responses=ProjectOut(many=True),
        examples=[OpenApiExample("One project", examples.PROJECT, response_only=True)],
    )
    def list(self, request: Request) -> Response:
        query = self.query(ListIn)
        visible, sort = self.visible(), query["sort"]
        matches = listing.matching(visible, query, at=self.at)
        if "after" in query:
            return self._page_after(query, matches)

        def rows(offset: int, length: int) -> Sequence[dict[str, Any]]:
            return self._all_as_json(listing.page(matches, offset, length, sort=sort))

        return self.page(rows, query, as_json=dict, total=matches.count())

    def _page_after(self, query: Mapping[str, Any], matches: ProjectQuerySet) -> Response:
        length, sort = query["per_page"] + 1, query["sort"]
        try:
            rows = listing.page_after(
                matches,
                query["after"],
                length,
                sort=sort,
                visible=self.visible(),
                community_id=self.actor.community_id,
            )
        except NotFound:
            refuse("after", "not_found", "`after` must be the id of a project that you may read.")
        page, pagination = page_after(rows, query, total=matches.count())
        return Response({"data": self._all_as_json(page), "pagination": pagination})

    def _prepare_script(self, claim: Claim | None) -> from_intent.Prepared | None:
        """Have AI write the script of a project with an `intent`, and wait for it.

        None if there is nothing to do.
        """
        if self.body.get("intent") is None or idempotency.is_settled(claim, at=self.at):
            return None
        return from_intent.prepare(
            actor=self.actor,
            fields=self._read_new(),
            **once_arguments(claim, at=self.at),
            at=self.at,
        )

    @extend_schema(
        operation_id="projects_create",
        tags=[TAG],
        summary="Create a project",
        description=(
            "Creates an inactive project. Its script is the `script` of the request, a copy of a "
            "`template`, written by AI from an `intent`, or missing. All errors are listed at once. With "
            "an `intent`, the request waits for up to 60 seconds. If `script` is null after this time, "
            "read the project until `generation.status` is `completed` or `failed`; a retry with the same "
            "`Idempotency-Key` joins the running work. The response is `402` for too few credits, `409` "
            "with `Retry-After` for too much AI within an hour, and `503` if the AI provider fails. "
            "[More](/docs/details#create-a-project)."
        ),
        request=NewProjectIn,
        responses={201: NewProjectOut, 402: TOO_FEW_CREDITS},
        examples=[
            OpenApiExample("A survey with its script", examples.NEW_PROJECT_SENT, request_only=True),
            OpenApiExample("From an intent", examples.INTENT_SENT, request_only=True),
            OpenApiExample("From a template", examples.TEMPLATE_SENT, request_only=True),
            OpenApiExample("Created", examples.NEW_PROJECT, response_only=True, status_codes=["201"]),
            OpenApiExample(
                "The script is still being written",
                examples.PENDING_PROJECT,
                response_only=True,
                status_codes=["201"],
            ),
        ],
    )
    @once(prepare=_prepare_script)
    def create(self, request: Request, *, prepared: from_intent.Prepared | None) -> Response:
        if prepared is not None:
            creation = from_intent.create_project(prepared=prepared, at=self.at)
            return self._created(
                creation.created, credits_used=creation.credits_used, has_script=not creation.is_pending
            )
        fields = self._read_new()
        if fields.get("intent") is not None:  # the stored response expired after `_prepare_script` saw it
            raise Conflict(
                "The response to this Idempotency-Key has just expired; please retry.", retry_after=1
            )
        fields, script = _with_template(fields)
        created = projects.create_project(
            actor=self.actor,
            fields=fields,
            script=script,
            at=self.at,
        )
        self.ignore(created.ignored)
        return self._created(created)

    def _read_new(self) -> dict[str, Any]:
        try:
            return self.read(NewProjectIn)
        except InvalidRequest as error:
            _refuse_with_script_violations(error, self.body)

    def _created(
        self, created: CreatedProject, *, credits_used: int = 0, has_script: bool = True
    ) -> Response:
        script = script_json.serialize(created.project, created.script) if has_script else None
        body = {**self._as_json(created.project), "script": script, "credits_used": credits_used}
        return Response(body, status=201)

    @extend_schema(
        operation_id="projects_get",
        tags=[TAG],
        summary="Read a project",
        description=(
            "Returns one project, with the status at the time of the response. On an anonymous project, "
            "readers other than its creator and admins see older counts, until at least 5 responses differ."
        ),
        responses=ProjectOut,
        examples=[OpenApiExample("A project", examples.PROJECT, response_only=True)],
    )
    def retrieve(self, request: Request, project_id: int) -> Response:
        project = lookup.seen_with_details(actor=self.actor, project_id=project_id, at=self.at)
        return Response(self._as_json(project))

    @_changes(
        operation_id="projects_put",
        request={"application/json": ref("ProjectPatch")},
        summary="Change a project",
        description=(
            "Changes the fields in the request, as `PATCH` does. You can send back a project as you read "
            "it. In a group, only the fields in the request change; `null` clears `delivery`, `rewards`, "
            "`presentation`, `scoring` and the invitation. A change of `privacy_mode` after the first "
            "response, or of scoring while the project is active, is `409 conflict`. A change of `rewards` "
            "also changes the outro. On the basic tier, four fields of the invitation are `403 "
            "tier_required`."
        ),
    )
    @once(prepare=_look_at_server)
    def update(self, request: Request, project_id: int, *, prepared: None) -> Response:
        return self._update(project_id)

    @_changes(
        operation_id="projects_patch",
        summary="Change some fields of a project",
        description="Changes only the fields in the request, as `PUT` does.",
    )
    @once(prepare=_look_at_server)
    def partial_update(self, request: Request, project_id: int, *, prepared: None) -> Response:
        return self._update(project_id)

    def _update(self, project_id: int) -> Response:
        project = projects.update_project(
            actor=self.actor,
            project_id=project_id,
            fields=self.read(ProjectIn, partial=True),
            at=self.at,
        )
        return Response(self._as_json(project))

    @extend_schema(
        operation_id="projects_delete",
        tags=[TAG],
        summary="Delete a project",
        description=(
            "Deletes the project with its script and all its responses. An active project is "
            "`409 conflict`: close it first."
        ),
        responses={204: None},
    )
    @once
    def destroy(self, request: Request, project_id: int) -> Response:
        removal.delete_project(actor=self.actor, project_id=project_id, at=self.at)
        return Response(status=204)

    @extend_schema(
        operation_id="projects_open",
        tags=[TAG],
        summary="Open a project",
        description=(
            "Starts accepting responses, now or at the time of a `scheduled` opening "
            "(`info.scheduled_open_at`). `delivery` is merged as in `PATCH`; its defaults are `private`, "
            "`web`, and `manual` for both modes. The response is `409 conflict` if the project is open or "
            "pending, or has no question, and for `chat` if the community has no connected chat. `chat` "
            "without `invitation.post_channel_id` is `400 channel_required`. [What is posted in "
            "chat](/docs/details#open-a-project)."
        ),
        request=OpenIn,
        responses=ProjectOut,
        examples=[
            OpenApiExample("To anyone, until a day in March", examples.DELIVERY_SENT, request_only=True),
            OpenApiExample("Open", examples.OPEN_PROJECT, response_only=True),
        ],
    )
    @once(prepare=_look_at_server)
    def open(self, request: Request, project_id: int, *, prepared: None) -> Response:
        project = opening.open_project(
            actor=self.actor,
            project_id=project_id,
            fields=self.read(OpenIn, partial=True),
            at=self.at,
        )
        return Response(self._as_json(project))

    @extend_schema(
        operation_id="projects_close",
        tags=[TAG],
        summary="Close a project",
        description=(
            "Stops accepting responses, or cancels a pending opening. An inactive project is `409 conflict`."
        ),
        request=None,
        responses=ProjectOut,
        examples=[OpenApiExample("Closed", examples.PROJECT, response_only=True)],
    )
    @once
    def close(self, request: Request, project_id: int) -> Response:
        project = opening.close_project(actor=self.actor, project_id=project_id, at=self.at)
        return Response(self._as_json(project))

    @extend_schema(
        operation_id="projects_clone",
        tags=[TAG],
        summary="Copy a project",
        description=(
            "Copies script, settings, scoring and presentation into a new inactive project in the key's "
            "community; responses, delivery and rewards are not copied. A project of another community can "
            "be copied while `is_cloneable` is true and if it is, or has been, open with `open_web`; "
            "otherwise the response is `404`. A copy of another community's open project has no correct "
            "answers, points, feedback and formulas. [More](/docs/details#copy-a-project)."
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
        return Response(self._as_json(project), status=201)

    def _as_json(self, project: Any) -> dict[str, Any]:
        (told,) = self._all_as_json([project])
        return told

    def _all_as_json(self, projects: Sequence[Any]) -> Sequence[dict[str, Any]]:
        """Counts of anonymous projects change in steps, except for their creators and admins. Members read no
        quotas and no ends (rule 7.121).
        """
        in_steps = [
            each
            for each in projects
            if each.is_anonymous and not access.may_own(actor=self.actor, project=each)
        ]
        totals = cache.totals(projects=in_steps, at=self.at)
        rendered = [(each.pk, project_as_json(each, at=self.at)) for each in projects]
        hidden: dict[str, Any] = {"quotas": [], "ends": []} if self.actor.is_member else {}
        return [
            {
                **told,
                "info": {**told["info"], **totals.get(pk, {})},
                "settings": {**told["settings"], **hidden},
            }
            for pk, told in rendered
        ]


def _with_template(fields: dict[str, Any]) -> tuple[dict[str, Any], object]:
    """The fields and the script of a new project. `template` supplies the script and may enable scoring."""
    if fields.get("template") is None:
        return fields, fields.get("script")
    draft = templates.draft(fields["template"], type=fields["type"])
    if draft.scoring_enabled and "scoring_enabled" not in fields and "scoring" not in fields:
        fields = {**fields, "scoring_enabled": True}
    return fields, {"blocks": draft.blocks}


def _refuse_with_script_violations(error: InvalidRequest, body: Mapping[str, Any]) -> NoReturn:
    """Raise InvalidRequest with the violations of the fields and those of the script."""
    violations = planning.faults_of_new(body.get("script"), is_poll=body.get("type") == "poll")
    refuse_all([*error.violations, *violations])
