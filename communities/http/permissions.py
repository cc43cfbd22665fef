"""One table: role × action (decisions 2.2 and 14.16). What is one's own is the services' to say."""

from __future__ import annotations

from communities.actors import Actor, Role
from communities.errors import Forbidden

MEMBER, CREATOR, ADMIN = Role

LEAST_ROLE = {
    "community.list": MEMBER,
    "community.retrieve": MEMBER,
    "settings.retrieve": MEMBER,
    "settings.partial_update": ADMIN,
    "api_key.list": ADMIN,
    "api_key.create": ADMIN,
    "api_key.rotate": ADMIN,
    "api_key.destroy": ADMIN,
    "member.list": MEMBER,
    "member.retrieve": MEMBER,
    "leaderboard.list": MEMBER,
    "achievement.list": MEMBER,
    "xp.list": MEMBER,  # one's own: xp.services.ledger
    "xp.create": ADMIN,
    "person.retrieve": ADMIN,
    "person.destroy": ADMIN,
    "webhook.list": ADMIN,
    "webhook.create": ADMIN,
    "webhook.retrieve": ADMIN,
    "webhook.partial_update": ADMIN,
    "webhook.destroy": ADMIN,
    "webhook.rotate_secret": ADMIN,
    "webhook.ping": ADMIN,
    "delivery.list": ADMIN,
    "delivery.retrieve": ADMIN,
    "delivery.redeliver": ADMIN,
    "project.list": MEMBER,
    "project.retrieve": MEMBER,
    "project.create": CREATOR,
    "project.update": CREATOR,
    "project.partial_update": CREATOR,
    "project.destroy": CREATOR,
    "project.clone": CREATOR,
    "project.open": CREATOR,
    "project.close": CREATOR,
    "script.retrieve": MEMBER,
    "script.update": CREATOR,
    "script.put_block": CREATOR,
    "script.patch_block": CREATOR,
    "conversation.create": CREATOR,
    "conversation.retrieve": CREATOR,
    "conversation.answer": CREATOR,
    "conversation.back": CREATOR,
    "conversation.go_on": CREATOR,
    "results.retrieve": MEMBER,  # whose: surveys.services.access
    "template.list": MEMBER,
    "template.retrieve": MEMBER,
    "response.list": MEMBER,
    "response.retrieve": MEMBER,
    "response.destroy": CREATOR,
    "analysis.create": CREATOR,
    "analysis.retrieve": MEMBER,
    "export.retrieve": MEMBER,  # whose responses are read: surveys.services.access
}


def check(actor: Actor, *, noun: str, action: str) -> None:
    """Refuses an action that the actor's role never may do."""
    least = LEAST_ROLE[f"{noun}.{action}"]
    if not actor.has_role(least):
        raise Forbidden(f"This needs a key of role {least} or above; this key's role is {actor.role}.")
