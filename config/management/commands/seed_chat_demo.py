"""Connects the demo with the loopback chat platform, and opens a survey and a poll there (CHAT_DEMO)."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from communities.ground.actors import Actor
from communities.models import User
from communities.services.chat import guilds, installations
from config.management.commands.seed_demo import COMMUNITY_ID, LOGIN, TIER
from surveys.models import Project
from surveys.services.projects import opening
from surveys.services.projects import service as projects

CHANNEL = "surveys"
OPTIONS = {
    "opening": ["e4 🔥", "d4", "c4", "Something wild 🎲"],
    "evening": ["Tuesday", "Thursday", "Saturday"],
}
SURVEY: dict[str, Any] = {
    "name": "How was the club evening?",
    "type": "convo",
    "rewards": {"use_xp": True},
    "script": [
        {
            "type": "content_block",
            "name": "hello",
            "prompt": "Hi! Four quick questions about last night.",
            "continue": {"after": "click", "label": "Let’s go"},
        },
        {"name": "liked", "type": "rating", "prompt": "How did you like it?", "required": True},
        {
            "name": "evenings",
            "type": "multi_punch",
            "prompt": "Which evenings suit you?",
            "options": [{"value": each} for each in OPTIONS["evening"]],
        },
        {
            "name": "order",
            "type": "ranking",
            "prompt": "What should we do more of?",
            "options": [{"value": each} for each in ("Blitz", "Analysis", "Lectures")],
        },
        {"name": "wish", "type": "open_text", "prompt": "Anything you wish for?"},
    ],
}
POLL: dict[str, Any] = {
    "name": "The best first move",
    "type": "poll",
    "settings": {"poll_results_mode": "public", "change_poll": True},
    "script": [
        {
            "name": "move",
            "type": "single_punch",
            "prompt": "How do you open?",
            "options": [{"value": each} for each in OPTIONS["opening"]],
        }
    ],
}


class Command(BaseCommand):
    help = "Opens a survey and a poll in the chat of the demo's community, unless they are there already."

    def handle(self, *args: Any, **options: Any) -> None:
        channel_id = _channel()
        admin = User.objects.get(username=LOGIN)
        actor = Actor(user_id=admin.pk, role="admin", community_id=COMMUNITY_ID, tier=TIER)
        for described in (SURVEY, POLL):
            _open(actor, described, channel_id)


def _channel() -> str:
    """Connect the community with the loopback platform of this run, and return the channel to post in."""
    installations.check(community_id=COMMUNITY_ID, at=timezone.now())
    guild = guilds.stored(community_id=COMMUNITY_ID)
    if guild is None:
        raise CommandError("The demo's community could not be connected with the chat platform.")
    return next(each.id for each in guild.text_channels if each.name == CHANNEL)


def _open(actor: Actor, described: dict[str, Any], channel_id: str) -> None:
    """Post again in each run, because the loopback platform loses its messages when it ends."""
    at = timezone.now()
    fields = {key: value for key, value in described.items() if key != "script"}
    earlier = Project.objects.in_community(COMMUNITY_ID).filter(name=described["name"]).first()
    delivery = {
        "audience": {"participation": "private", "response_channel": "chat"},
        "invitation": {"post_channel_id": channel_id},
    }
    if earlier is None:
        script = {"blocks": described["script"]}
        earlier = projects.create_project(actor=actor, fields=fields, script=script, at=at).project
    elif earlier.is_live_at(at):
        opening.close_project(actor=actor, project_id=earlier.pk, at=at)
    opening.open_project(actor=actor, project_id=earlier.pk, fields={"delivery": delivery}, at=at)
