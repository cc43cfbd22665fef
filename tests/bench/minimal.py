"""Bare Django views that store and read the same rows through the ORM: what Colloquy is compared with."""

import json
import uuid
from typing import Any

from django.db import transaction
from django.db.models import F
from django.db.models.functions import Coalesce, Lower
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.template import Context, Engine
from django.urls import path
from django.utils import timezone
from django.views.decorators.csrf import csrf_exempt

from communities.models import Member
from surveys.models import Answer, Block, Completion, Conversation, Option, Project, Tally
from xp.models import Standing

PAGE = Engine().from_string(
    "<!doctype html><title>{{ project.name }}</title><h1>{{ block.prompt }}</h1><form method=post>"
    '{% for option in options %}<label><input type="radio" name="option" value="{{ option.pk }}">'
    "{{ option.value }}</label>{% endfor %}<button>Send</button></form>"
)


def healthz(request: HttpRequest) -> HttpResponse:
    return HttpResponse("ok")


def poll(request: HttpRequest, project_id: int) -> HttpResponse:
    if request.method == "POST":
        return _vote(request, project_id)
    project = Project.objects.get(pk=project_id)
    block = Block.objects.get(project=project, section="main")
    options = Option.objects.filter(block=block).order_by("display_order")
    return HttpResponse(PAGE.render(Context({"project": project, "block": block, "options": options})))


@transaction.atomic
def _vote(request: HttpRequest, project_id: int) -> HttpResponse:
    option = Option.objects.get(pk=request.POST["option"])
    at = timezone.now()
    conversation = Conversation.objects.create(
        project_id=project_id,
        seed=1,
        state={"at": 1, "path": [option.block_id]},
        is_listed=True,
        session_number=1,
        started_at=at,
        updated_at=at,
        completed_at=at,
    )
    Answer.objects.create(
        conversation=conversation, block_id=option.block_id, ordinal=0, option=option, value=option.value
    )
    Completion.objects.create(
        project_id=project_id, respondent=uuid.uuid4().hex, completions=1, last_session=1
    )
    _count(project_id, answered=1, completed=1, listed=1)
    return HttpResponse("Thank you.")


def begin(request: HttpRequest, project_id: int) -> JsonResponse:
    at = timezone.now()
    conversation = Conversation.objects.create(
        project_id=project_id, seed=1, state={"at": 0, "path": []}, started_at=at, updated_at=at
    )
    return JsonResponse({"id": str(conversation.pk)}, status=201)


@transaction.atomic
def answer(request: HttpRequest, conversation_id: uuid.UUID) -> JsonResponse:
    body = json.loads(request.body)
    conversation = Conversation.objects.select_for_update().get(pk=conversation_id)
    conversation.state["at"] += 1
    conversation.state["path"].append(body["block_id"])
    conversation.updated_at = timezone.now()
    conversation.is_listed = True
    conversation.save(update_fields=["state", "updated_at", "is_listed"])
    value, option_id = body.get("value"), body.get("option_id")
    Answer.objects.create(
        conversation=conversation,
        block_id=body["block_id"],
        ordinal=0,
        value=str(value or option_id),
        option_id=option_id,
        number=float(value) if isinstance(value, int) else None,
    )
    _count(conversation.project_id, answered=1)
    return JsonResponse({"id": str(conversation.pk), "step": conversation.state["at"]})


@transaction.atomic
def create_project(request: HttpRequest, community_id: int) -> JsonResponse:
    body = json.loads(request.body)
    project = Project.objects.create(
        community_id=community_id, name=body["name"], type=body["type"], created_at=timezone.now()
    )
    blocks = Block.objects.bulk_create(
        Block(
            project=project,
            position=n,
            name=each.get("name", f"q{n}"),
            type=each["type"],
            prompt=each["prompt"],
            min=each.get("min"),
            max=each.get("max"),
        )
        for n, each in enumerate(body["script"]["blocks"])
    )
    Option.objects.bulk_create(
        Option(block=block, display_order=n, code=n + 1, value=option["value"])
        for block, each in zip(blocks, body["script"]["blocks"], strict=True)
        for n, option in enumerate(each.get("options", []))
    )
    return JsonResponse({"id": str(project.pk), "blocks": [block.pk for block in blocks]}, status=201)


def script(request: HttpRequest, project_id: int) -> JsonResponse:
    blocks = Block.objects.filter(project_id=project_id, is_archived=False).order_by("position").values()
    told: dict[int, dict[str, Any]] = {block["id"]: {**block, "options": []} for block in blocks}
    for option in Option.objects.filter(block__in=told, is_archived=False).order_by("display_order").values():
        told[option["block_id"]]["options"].append(option)
    return JsonResponse({"project_id": str(project_id), "blocks": list(told.values())})


def responses(request: HttpRequest, project_id: int) -> JsonResponse:
    listed = Conversation.objects.filter(project_id=project_id, is_listed=True)
    if after := request.GET.get("after"):
        listed = listed.filter(pk__gt=after)
    fields = ("id", "platform_id", "provider", "user_id", "session_number", "completed_at")
    told: dict[uuid.UUID, dict[str, Any]] = {
        row["id"]: {**row, "answers": []} for row in listed.order_by("pk").values(*fields)[:100]
    }
    for given in Answer.objects.filter(conversation__in=told).values(
        "conversation_id", "block_id", "option_id", "value"
    ):
        told[given["conversation_id"]]["answers"].append(given)
    return JsonResponse({"data": list(told.values())})


def leaderboard(request: HttpRequest, community_id: int) -> JsonResponse:
    earned = Standing.objects.filter(
        community_id=community_id, xp_total__gt=0, member__left_at__isnull=True
    ).select_related("member__user")
    rows = list(earned.order_by("-xp_total", "pk")[:25])
    told = [
        {**_told(each.member), "xp_total": each.xp_total, "rank": place}
        for place, each in enumerate(rows, start=1)
    ]
    return JsonResponse({"data": told, "total": earned.count()})


def members(request: HttpRequest, community_id: int) -> JsonResponse:
    everybody = Member.objects.filter(community_id=community_id).select_related("user")
    rows = everybody.order_by(Lower(Coalesce("nick", "user__name")), "pk")[:25]
    return JsonResponse({"data": [_told(each) for each in rows], "total": everybody.count()})


def _told(member: Member) -> dict[str, Any]:
    return {"id": str(member.pk), "name": member.user.name, "nick": member.nick, "access": member.access}


def _count(project_id: int, *, answered: int = 0, completed: int = 0, listed: int = 0) -> None:
    Tally.objects.filter(project_id=project_id, slot=0).update(
        answered=F("answered") + answered, completed=F("completed") + completed, listed=F("listed") + listed
    )


urlpatterns = [
    path("healthz", healthz),
    path("polls/<int:project_id>", csrf_exempt(poll)),
    path("projects/<int:project_id>/conversations", csrf_exempt(begin)),
    path("conversations/<uuid:conversation_id>/answers", csrf_exempt(answer)),
    path("communities/<int:community_id>/projects", csrf_exempt(create_project)),
    path("projects/<int:project_id>/script", script),
    path("projects/<int:project_id>/responses", responses),
    path("communities/<int:community_id>/leaderboard", leaderboard),
    path("communities/<int:community_id>/members", members),
]
