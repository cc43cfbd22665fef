"""Every rule about who may change and read what in a community.

See rules 1.26 to 1.32, 1.34, 1.35, 1.80 to 1.85, 1.89, 2.16, 3.39 and 6.33.

A level on a project (`level_of`) comes from the role, or from a grant to a person who is signed in. `may_…`
answers whether the actor may. `require_…` raises NotFound if the actor may not know that the object exists,
and Forbidden if the actor may know that but may not do this.
"""

from __future__ import annotations

from collections.abc import Collection, Set
from datetime import datetime

from django.conf import settings

from communities.ground.actors import Actor, Level
from communities.ground.errors import Forbidden, NotFound, TierRequired
from communities.models import Community
from surveys.engine.language import piping
from surveys.engine.script import Violation
from surveys.models import Conversation, Project
from surveys.services.ground import field_groups
from surveys.services.ground.field_groups import Group

NO_PROJECT = "There is no such project."
OWNERS_ALONE = "only owners of the project and admins change this: it decides about single responses."


def level_of(*, actor: Actor, project: Project) -> Level:
    """The actor's level on a project: creators own their own projects, admins all of their community.

    Other people have the level that they were given (rule 1.80).
    """
    if project.community_id != actor.community_id:
        return Level.NONE
    is_author = actor.is_creator and project.author_id == actor.user_id
    return Level.OWN if actor.is_admin or is_author else actor.level_given(project.pk)


def may_edit(*, actor: Actor, project: Project) -> bool:
    """Whether the actor may change the script and the settings of a project, open it and close it."""
    return level_of(actor=actor, project=project) >= Level.EDIT


def may_own(*, actor: Actor, project: Project) -> bool:
    """Whether the actor has the rights of the project's creator: also over its responses, its links, the
    people with access to it, and its deletion.
    """
    return level_of(actor=actor, project=project) == Level.OWN


def require_editor(*, actor: Actor, project: Project) -> None:
    """Refuse an actor who may not change this project (`may_edit`).

    Raises NotFound for a project that the actor may not know; else Forbidden.
    """
    _require_level(Level.EDIT, actor=actor, project=project, missing=NO_PROJECT)


def require_owner(*, actor: Actor, project: Project, missing: str = NO_PROJECT) -> None:
    """Refuse an actor who may not change this project's responses and conversations (`may_own`), as
    `require_editor` does, with the message `missing` in NotFound.
    """
    _require_level(Level.OWN, actor=actor, project=project, missing=missing)


def _require_level(level: Level, *, actor: Actor, project: Project, missing: str) -> None:
    if project.community_id != actor.community_id:
        raise NotFound(missing)
    if level_of(actor=actor, project=project) < level:
        raise Forbidden("Only the creator of this project and admins may do this.")


def may_see(*, actor: Actor, project: Project, at: datetime) -> bool:
    """Whether the actor may know that a project exists (rules 1.26, 1.27 and 1.83), as `lookup.visible`."""
    if project.community_id != actor.community_id:
        return False
    if actor.sees_all_projects or level_of(actor=actor, project=project) or project.is_live_at(at):
        return True
    return actor.sees_drafts and project.was_opened_by(at)


def xp_limit(*, actor: Actor | None) -> int | None:
    """The most XP that `give_xp` blocks may give in one completion, in a script that this actor writes.

    None, for admins, is no limit (rule 3.39). Without an actor the service itself writes, for a person who
    may be a creator.
    """
    return None if actor is not None and actor.is_admin else settings.XP_PER_COMPLETION_BY_CREATORS


def require_premium(*, actor: Actor, after: Group | None, before: Group | None) -> None:
    """Refuse premium fields of a project's delivery that get a new value on the basic tier."""
    if actor.has_premium_features:
        return
    if paths := field_groups.premium_fields_changed(after, before):
        violations = [Violation(path, "not_allowed", f"`{path}` needs the premium tier.") for path in paths]
        raise TierRequired(violations[0].message, violations=violations)


def ping_faults(*, actor: Actor, after: Group | None, before: Group | None) -> list[Violation]:
    """Only admins list roles that a post notifies, because a post disturbs everybody with the role
    (rule 6.44).

    Creators may send back or remove the roles that an admin listed.
    """
    new = set(field_groups.pinged_roles(after)).difference(field_groups.pinged_roles(before))
    if actor.is_admin or not new:
        return []
    path = "delivery.invitation.ping_role_ids"
    return [Violation(path, "not_allowed", f"`{path}`: only admins choose roles that a post notifies.")]


def closed_settings(*, actor: Actor, project: Project) -> Collection[str]:
    """The settings of a project that an editor leaves to its owners, because they decide who reads single
    responses and how long, or would reveal single answers (rule 1.89).
    """
    if may_own(actor=actor, project=project):
        return ()
    told = [] if may_read_people(actor=actor, project=project) else ["quotas", "ends"]
    counted = ["max_completes"] if project.is_anonymous else []
    return ["privacy_mode", "keep_responses_days", *told, *counted]


def settings_faults(*, actor: Actor, after: Project, before: Project) -> list[Violation]:
    """The changed settings that this editor leaves to owners (rule 1.89)."""
    closed: Collection[str] = closed_settings(actor=actor, project=before)
    changed = [name for name in closed if getattr(after, name) != getattr(before, name)]
    if "privacy_mode" in closed and after.rounds_times_to_day != before.rounds_times_to_day:
        changed = [*dict.fromkeys([*changed, "privacy_mode"])]
    address, was = ((each.end or {}).get("url") or "" for each in (after, before))
    tells = address != was and any(True for _ in piping.mentions(address))
    if tells and not may_read_people(actor=actor, project=before):
        changed.append("end.url")
    return [
        Violation(f"settings.{name}", "not_allowed", f"`settings.{name}`: {OWNERS_ALONE}") for name in changed
    ]


def may_clone(*, actor: Actor, project: Project, at: datetime) -> bool:
    """Whether the actor may copy this project: any that they see of their community, and public cloneable
    ones of others.

    Drafts and private projects of other communities cannot be copied, whatever their flag says (rule 2.16).
    Test keys copy nothing of the live side, and nobody else copies test projects (rule 1.762).
    """
    if project.community_id == actor.community_id:
        return may_see(actor=actor, project=project, at=at)
    between_tests = Community.objects.filter(
        pk__in=[project.community_id, actor.community_id], test_of__isnull=False
    )
    return project.is_cloneable and project.is_public_at(at) and not between_tests.exists()


def may_read_solutions(*, actor: Actor, project: Project | None = None) -> bool:
    """Whether the actor may read the correct answers, points, feedback and formulas of scripts they see.

    Members may not: a member may be asked to answer, so a member knows no more than any respondent
    (rule 1.35). Members with access to this `project` may.
    """
    return not actor.is_member or (
        project is not None and level_of(actor=actor, project=project) >= Level.READ
    )


def may_read_people(*, actor: Actor, project: Project) -> bool:
    """Whether the actor may read single responses of a project whose results they may read (rule 7.1).

    An actor who may not reads shared results: aggregates over the whole project, without answers in words.
    """
    is_open_to_all = project.privacy_mode == Project.PrivacyMode.TRANSPARENT
    return is_open_to_all or may_own(actor=actor, project=project)


def polls_voted_in(*, actor: Actor) -> Set[int]:
    """The ids of the actor's community's polls with results for voters in which the actor has voted."""
    votes = Conversation.objects.filter(
        user_id=actor.user_id,
        completed_at__isnull=False,
        project__community_id=actor.community_id,
        project__type=Project.Type.POLL,
        project__poll_results_mode=Project.PollResultsMode.VOTERS_ONLY,
    )
    return set(votes.values_list("project_id", flat=True))


def require_responses_reader(
    *,
    actor: Actor,
    project: Project,
    at: datetime,
    missing: str = NO_PROJECT,
    voted_in: Set[int] | None = None,
) -> None:
    """Refuse an actor who may not list, read or export this project's responses.

    A caller that asks about many projects passes `polls_voted_in`. Without it, each poll may cost one
    statement.
    """
    _require_visible(actor=actor, project=project, at=at, missing=missing)
    if not may_read_people(actor=actor, project=project):
        raise Forbidden("Only the creator of this project and admins may read its responses.")
    _require_visible_poll(actor=actor, project=project, voted_in=voted_in)


def require_results_reader(*, actor: Actor, project: Project, at: datetime) -> None:
    """Refuse an actor who may not read this project's results and analyses."""
    _require_visible(actor=actor, project=project, at=at, missing=NO_PROJECT)
    is_given = level_of(actor=actor, project=project) >= Level.READ
    if not (is_given or project.share_results or may_read_people(actor=actor, project=project)):
        raise Forbidden("Only its creator and admins may read this project's results; they are not shared.")
    _require_visible_poll(actor=actor, project=project)


def _require_visible(*, actor: Actor, project: Project, at: datetime, missing: str) -> None:
    """Refuse a project that the actor may not know (rule 1.34)."""
    if not may_see(actor=actor, project=project, at=at):
        raise NotFound(missing)


def _require_visible_poll(*, actor: Actor, project: Project, voted_in: Set[int] | None = None) -> None:
    """Refuse a member who may not see the results of a poll that is still open (rule 6.33).

    Every other poll that a member sees without access to it is open, because `_require_visible` hides the
    others.
    """
    if not (actor.is_member and project.is_poll) or level_of(actor=actor, project=project):
        return
    mode = project.poll_results_mode
    if mode == Project.PollResultsMode.PUBLIC:
        return
    if mode == Project.PollResultsMode.VOTERS_ONLY:
        if _has_voted(actor, project) if voted_in is None else project.pk in voted_in:
            return
        raise Forbidden("The results of this poll are shown to those who have voted.")
    raise Forbidden("The results of this poll are hidden until it closes.")


def _has_voted(actor: Actor, project: Project) -> bool:
    votes = Conversation.objects.filter(project=project, user_id=actor.user_id, completed_at__isnull=False)
    return votes.exists()
