"""Who may perform an action, decided only by role (rules 1.26 to 1.31).

Each viewset declares the least role for each of its actions. Services check conditions of the object, such as
whether a project is the actor's own.
"""

from __future__ import annotations

from communities.ground.actors import Actor, Role
from communities.ground.errors import Forbidden


def require_role(actor: Actor, least: Role) -> None:
    """Raise Forbidden unless the actor has this role or one above it."""
    if not actor.has_role(least):
        raise Forbidden(f"This needs a key of role {least} or above; this key's role is {actor.role}.")
