"""A community whose server is on the loopback platform. Tests run the worker's tasks themselves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from celery import current_app
from django.test import Client
from django.utils import timezone

from communities.ground.actors import Actor
from communities.models import ChatTask, Member
from communities.services.chat import installations
from surveys.chat import tasks as _chat_tasks  # registers the tasks by their names
from surveys.models import Project, PublicMessage
from surveys.services import public_messages
from surveys.services.projects import opening, server_rules
from surveys.services.projects import service as projects
from tests.factories import CommunityFactory, CommunitySettingsFactory, MemberFactory, UserFactory
from tests.support.chat.agent import Agent
from tests.support.chat.server import Platform
from tests.support.chat.world import Channel
from xp import tasks as _xp_tasks

REGISTERED = (_chat_tasks, _xp_tasks)
ROUNDS = 5


class ChatCommunity:
    """A community of the premium tier, connected with a platform."""

    def __init__(self, platform: Platform, *, tier: str = "premium") -> None:
        self.platform = platform
        self.channel = platform.world.add_channel("surveys")
        self.helper = platform.world.add_role("Helper", position=10)
        self.community = CommunityFactory.create(
            id=int(platform.world.guild_id), name="Chess Club", tier=tier
        )
        CommunitySettingsFactory(community=self.community)
        self.admin = MemberFactory.create(
            community=self.community, user=UserFactory(name="Ada"), access=Member.Access.ADMIN
        )
        installations.check(community_id=self.community.pk, at=timezone.now())

    @property
    def actor(self) -> Actor:
        return Actor(
            user_id=self.admin.user_id, role="admin", community_id=self.community.pk, tier=self.community.tier
        )

    def create(self, *blocks: Mapping[str, Any], type: str = "convo", **fields: Any) -> Project:
        """A project that is delivered in the channel, not open yet."""
        delivery = {
            "audience": {"participation": "private", "response_channel": "chat"},
            "invitation": {"post_channel_id": self.channel.id, **fields.pop("invitation", {})},
        }
        values = {"name": "Club evening", "type": type, "delivery": delivery, **fields}
        return projects.create_project(
            actor=self.actor, fields=values, script={"blocks": list(blocks)}, at=timezone.now()
        ).project

    def open(self, *blocks: Mapping[str, Any], **fields: Any) -> Project:
        """A project that is open and posted."""
        made = self.create(*blocks, **fields)
        self.reopen(made)
        return made

    def open_with(self, project: Project, fields: Mapping[str, Any]) -> None:
        """Open a project with changes of its fields, and post it."""
        opening.open_project(actor=self.actor, project_id=project.pk, fields=dict(fields), at=timezone.now())
        self.work()

    def reopen(self, project: Project) -> None:
        """Open an existing project, and post it. Like the views, this reads the server first."""
        server_rules.look_to_open(
            community_id=self.community.pk, project_id=project.pk, fields={}, at=timezone.now()
        )
        opening.open_project(actor=self.actor, project_id=project.pk, at=timezone.now())
        self.work()

    def close(self, project: Project) -> None:
        opening.close_project(actor=self.actor, project_id=project.pk, at=timezone.now())
        self.work()

    def work(self, *, at: Any = None) -> None:
        """Run the tasks that a worker would have run by now, in a few rounds."""
        for _ in range(ROUNDS):
            if not (due := self._due(at)):
                public_messages.ask_for_outdated(at=timezone.now())
                current_app.tasks["xp.grant_waiting_roles"]()
                if not (due := self._due(at)):
                    return
            for task in due:
                current_app.tasks[task.kind](task_id=task.pk)

    def _due(self, at: Any) -> list[ChatTask]:
        return list(ChatTask.objects.filter(due_at__lte=at or timezone.now()).order_by("pk"))

    def agent(self, name: str = "Marit", **fields: Any) -> Agent:
        """Somebody in the server, with a client whose requests Django's test client carries."""
        person = self.platform.world.add_person(name, **fields)
        return Agent(self.platform, person, through_django, checks_deadline=False)

    def message(self, channel: Channel | None = None) -> dict[str, Any]:
        """The newest message in the channel."""
        return list((channel or self.channel).messages.values())[-1]


def message_of(chat: ChatCommunity, project: Project) -> dict[str, Any]:
    """The message of a project, as the platform has it."""
    return chat.channel.messages[PublicMessage.objects.get(pk=project.pk).message_id]


def through_django(body: bytes, headers: Mapping[str, str]) -> tuple[int, bytes]:
    """Sends an interaction without a server."""
    response = Client().post(
        "/chat/interactions", body, content_type="application/json", headers=dict(headers)
    )
    return response.status_code, response.content
