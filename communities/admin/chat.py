"""The page about a community's connection to the chat platform."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import Any

from django.contrib import admin, messages
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseNotAllowed, HttpResponseRedirect
from django.urls import URLPattern, path, reverse
from django.utils import timezone
from django.utils.safestring import SafeString

from communities.ground.actors import Actor
from communities.ground.errors import Refusal
from communities.ground.words import plural
from communities.models import ChatInstallation
from communities.services.chat import checking, installations, outbox, overview
from communities.services.chat.overview import Connection, Work
from communities.staff.base import CommunityPage, Nav
from communities.staff.failures import Failure, add_failures
from communities.staff.home import Attention, FirstStep, add_attention, add_first_steps
from communities.staff.texts import moment, state

RECENTLY = timedelta(days=7)


@admin.register(ChatInstallation)
class ChatPageAdmin(CommunityPage[ChatInstallation]):
    nav = Nav("Chat", "chat", 55)

    def get_urls(self) -> list[URLPattern]:
        def own(route: str, view: Any, name: str) -> URLPattern:
            full = f"communities_chatinstallation_{name}"
            pattern: URLPattern = path(route, self.admin_site.admin_view(view), name=full)
            return pattern

        return [
            own("<path:object_id>/check/", self.check_view, "check"),
            own("<path:object_id>/again/<int:task_id>/", self.again_view, "again"),
            *super().get_urls(),
        ]

    def page(self, request: HttpRequest, actor: Actor) -> HttpResponse:
        connection = overview.connection(community_id=actor.community_id)
        context = {
            "title": "Chat",
            "connection": connection,
            "facts": _facts(connection),
            "failed": _with_states(overview.failed(community_id=actor.community_id)),
            "recent": _with_states(overview.recent(community_id=actor.community_id)),
            "community_id": actor.community_id,
        }
        return self.render(request, "admin/communities/chatinstallation/page.html", context)

    def check_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Check the connection now."""
        actor = self.open_community(request, object_id)
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        words, is_good = checking.check_by_hand(community_id=actor.community_id, at=timezone.now())
        messages.add_message(request, messages.SUCCESS if is_good else messages.ERROR, words)
        return HttpResponseRedirect(self.address("change", actor.community_id))

    def again_view(self, request: HttpRequest, object_id: str, task_id: int) -> HttpResponse:
        """Retry a failed task."""
        actor = self.open_community(request, object_id)
        if not outbox.is_of(community_id=actor.community_id, task_id=task_id):
            raise Http404
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        try:
            outbox.try_again(actor=actor, task_id=task_id, at=timezone.now())
        except Refusal as refusal:
            messages.error(request, refusal.message)
        else:
            messages.success(request, "It is tried again now.")
        return HttpResponseRedirect(self.address("change", actor.community_id))


def _facts(connection: Connection) -> list[tuple[str, object]]:
    facts: list[tuple[str, object]] = [("State", state(*connection.state))]
    row = connection.installation
    if row is None:
        return facts
    if connection.server:
        facts.append(("Server", connection.server))
    if row.removed_at:
        facts.append(("Noticed", moment(row.removed_at)))
    elif row.connected_at:
        facts.append(("Connected", moment(row.connected_at)))
    return [*facts, ("Last checked", moment(row.checked_at))]


def _with_states(works: Sequence[Work]) -> list[tuple[Work, SafeString]]:
    return [(work, state(*work.state)) for work in works]


@add_attention
def broken_connection(request: HttpRequest, actor: Actor) -> Sequence[Attention]:
    """A warning about a bot that was removed or lacks permissions, and about recent failed tasks."""
    if not actor.is_admin or not installations.is_configured():
        return []
    row = installations.find(community_id=actor.community_id)
    if row is None:
        return []
    address = reverse("admin:communities_chatinstallation_change", args=[actor.community_id])
    if row.status == ChatInstallation.Status.REMOVED:
        return [Attention("The bot was removed from your server on Discord.", address)]
    attentions = []
    if row.problems:
        attentions.append(Attention("The bot lacks something in your server on Discord.", address))
    count = overview.failures(community_id=actor.community_id, since=timezone.now() - RECENTLY)
    if count:
        text = f"{plural(count, 'thing')} could not be done on Discord this week, or not yet."
        attentions.append(Attention(text, address))
    return attentions


@add_failures
def failed_tasks(community_id: int | None, since: datetime) -> Iterator[Failure]:
    """Work on the chat platform that was given up, is blocked or waits for a retry."""
    for work in overview.failed(community_id=community_id):
        if work.at >= since:
            page = reverse("admin:communities_chatinstallation_change", args=[work.community_id])
            yield Failure(
                kind="Discord",
                what=f"{work.label}: {work.about}" if work.about else work.label,
                reason=f"{work.state[0]}. {work.error}".strip(),
                at=work.at,
                community_id=work.community_id,
                address=page,
                again=reverse("admin:communities_chatinstallation_again", args=[work.community_id, work.id]),
            )


@add_first_steps
def connect_chat(request: HttpRequest, actor: Actor) -> Sequence[FirstStep]:
    """The step that adds the bot, if this installation has one."""
    if not actor.is_admin or not installations.is_configured():
        return []
    return [
        FirstStep(
            7,
            "Add the bot to your server on Discord",
            reverse("admin:communities_chatinstallation_change", args=[actor.community_id]),
            is_done=installations.find(community_id=actor.community_id) is not None,
        )
    ]
