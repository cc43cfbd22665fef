"""Who may perform an action, by the role and the scope of their key (rules 1.26 to 1.31, and 1.49).

Each viewset declares the least role for each of its actions. Services check conditions of the object, such as
whether a project is the actor's own.
"""

from __future__ import annotations

from communities.ground.actors import Actor, Role
from communities.ground.errors import Forbidden
from communities.models import ApiKey


def require_role(actor: Actor, least: Role) -> None:
    """Raise Forbidden unless the actor has this role or one above it."""
    if not actor.has_role(least):
        raise Forbidden(f"This needs a key of role {least} or above; this key's role is {actor.role}.")


def require_scope(scope: str, *, is_read: bool, is_of_conversations: bool) -> None:
    """Raise Forbidden unless a key of this scope may send a request.

    `is_read` says that the request changes nothing. `is_of_conversations` says that it leads a conversation,
    or reads what is asked in one.
    """
    if scope == ApiKey.Scope.READ and not is_read:
        raise Forbidden("The scope of this key is `read`, so it sends GET requests only.")
    if scope == ApiKey.Scope.CONVERSATIONS and not is_of_conversations:
        raise Forbidden(
            "The scope of this key is `conversations`: it leads these, and reads projects and scripts."
        )
