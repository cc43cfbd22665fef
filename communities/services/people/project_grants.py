"""The access of single members to single projects, or to read all of them (rules 1.80 to 1.85).

    in_row(), levels(…)   what members were given, in a query that reads them anyway
    change(…)             give, change or take a member's access; the caller has checked that the actor may

The rows hold for people who are signed in. API keys have the rights of their role alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from django.contrib.postgres.expressions import ArraySubquery
from django.db.models import F, OuterRef, Q, QuerySet
from django.db.models.functions import JSONObject

from communities.ground.actors import ALL_PROJECTS, Actor, Level
from communities.ground.audit_actions import Action
from communities.ground.errors import Conflict, Forbidden
from communities.ground.transactions import again_after_deadlock, in_transaction
from communities.models import AuditEntry, Invitation, Member, ProjectGrant
from communities.services.people.members import NoSuchMember, display_names, subject_of
from communities.services.trail import audit

MOST_OF_MEMBER = 500  # One member has access to at most this many single projects.
MOST_OF_PROJECT = 100  # At most this many people have access to one project.


@dataclass(frozen=True, slots=True)
class Given:
    """A present member with their access to a project."""

    member_id: int
    user_id: int
    name: str
    access: str
    level: Level
    is_of_all: bool  # they read all projects, and were not given this one


def in_row() -> ArraySubquery:
    """A column for a query of members: what each was given, as `levels` reads it."""
    rows = ProjectGrant.objects.filter(member=OuterRef("pk"))
    return ArraySubquery(rows.values(given=JSONObject(project_id="project_id", level="level")))


def levels(column: Sequence[Mapping[str, Any]]) -> Mapping[int, Level]:
    """The levels of a member by project, from the column of `in_row`."""
    return {each["project_id"] or ALL_PROJECTS: Level.of(each["level"]) for each in column}


def of_project(*, community_id: int, project_id: int) -> Sequence[Given]:
    """The members with access to a project of a community, by name; those who read all projects too."""
    rows = _of_community(community_id).filter(Q(project_id=project_id) | Q(project_id__isnull=True))
    columns = ("member_id", "member__user_id", "member__access", "level", "project_id")
    # Rows of this project come last, so that they replace the same member's row for all projects.
    found = {
        row[0]: row for row in rows.order_by(F("project_id").asc(nulls_first=True)).values_list(*columns)
    }
    names = display_names(community_id=community_id, user_ids=[row[1] for row in found.values()])
    given = [
        Given(pk, user_id, names.get(user_id) or f"Member {pk}", access, Level.of(level), project is None)
        for pk, user_id, access, level, project in found.values()
    ]
    return sorted(given, key=lambda each: (each.name.casefold(), each.member_id))


def of_member(member: Member) -> Mapping[int, Level]:
    """A member's levels by project."""
    rows = ProjectGrant.objects.filter(member=member).values_list("project_id", "level")
    return {project_id or ALL_PROJECTS: Level.of(level) for project_id, level in rows}


@again_after_deadlock
@in_transaction
def change(*, actor: Actor, member_id: int, project_id: int | None, level: Level, at: datetime) -> None:
    """Give a member of the actor's community this level on a project; `Level.NONE` takes the access.

    Without a `project_id` the member reads all projects, and only admins give that (Forbidden). Raises
    NoSuchMember. Refuses (Conflict) members who have left or are admins, and more rows than the limits.
    """
    if project_id is None and not actor.is_admin:
        raise Forbidden("Only admins let somebody read all projects.")
    members = Member.objects.select_for_update(no_key=True, of=("self",))
    member = members.filter(community_id=actor.community_id, pk=member_id).first()
    if member is None:
        raise NoSuchMember
    give(member, project_id=project_id, level=level, actor=actor, at=at)


def give(member: Member, *, project_id: int | None, level: Level, actor: Actor | None, at: datetime) -> None:
    """Set the level of a locked member. Refuses as `change` does."""
    own = ProjectGrant.objects.filter(member=member)
    row = own.filter(project_id=project_id).first()
    before = Level.NONE if row is None else Level.of(row.level)
    if before == level:
        return
    if level == Level.NONE:
        own.filter(project_id=project_id).delete()
    else:
        _require_room(member, project_id, is_new=row is None)
        ProjectGrant.objects.update_or_create(
            member=member, project_id=project_id, defaults={"level": str(level)}
        )
    audit.record(
        actor=actor,
        action=Action.PROJECT_ACCESS_CHANGED,
        on=_subject(member, project_id),
        at=at,
        before={"level": None if before == Level.NONE else str(before)},
        after={"level": None if level == Level.NONE else str(level)},
    )


def _require_room(member: Member, project_id: int | None, *, is_new: bool) -> None:
    if not member.belongs:
        raise Conflict("This member has left the community.")
    if member.is_admin:
        raise Conflict("Admins have access to every project already.")
    if not is_new:
        return
    if _of_community(member.community_id).filter(project_id=project_id).count() >= MOST_OF_PROJECT:
        what = "all projects" if project_id is None else "one project"
        raise Conflict(f"At most {MOST_OF_PROJECT:,} people have access to {what}.")
    if ProjectGrant.objects.filter(member=member).count() >= MOST_OF_MEMBER:
        raise Conflict(f"One member has access to at most {MOST_OF_MEMBER:,} single projects.")


def was_changed(member: Member, *, project_id: int | None, since: datetime) -> bool:
    """Whether somebody has changed a member's access to a project since a time."""
    entries = AuditEntry.objects.filter(
        community_id=member.community_id,
        object_type="member",
        object_id=str(member.pk),
        action=Action.PROJECT_ACCESS_CHANGED,
        project_id=project_id,
        happened_at__gt=since,
    )
    return entries.exists()


def merge(*, keep_id: int, drop_id: int) -> None:
    """Move the rows of a member who is merged into another one, who keeps the higher level."""
    kept = {row.project_id: row for row in ProjectGrant.objects.filter(member_id=keep_id)}
    for row in ProjectGrant.objects.filter(member_id=drop_id):
        own = kept.get(row.project_id)
        if own is None:
            ProjectGrant.objects.filter(pk=row.pk).update(member_id=keep_id)
        elif Level.of(own.level) < Level.of(row.level):
            ProjectGrant.objects.filter(pk=own.pk).update(level=row.level)


def forget_project(*, project_id: int) -> None:
    """Delete the rows of a project that is deleted for good. Invitations to it give membership alone.

    Invitations come first: one that is being accepted is waited for, and the row that it writes is deleted.
    """
    Invitation.objects.filter(granted_project_id=project_id).update(granted_level="", granted_project_id=None)
    ProjectGrant.objects.filter(project_id=project_id).delete()


def personal_data(*, member_id: int) -> list[dict[str, str | None]]:
    """A member's rows for the export of their data; null is every project."""
    rows = ProjectGrant.objects.filter(member_id=member_id).order_by("pk")
    return [
        {"project_id": None if row.project_id is None else str(row.project_id), "level": row.level}
        for row in rows
    ]


def _of_community(community_id: int) -> QuerySet[ProjectGrant]:
    return ProjectGrant.objects.filter(member__community_id=community_id, member__left_at__isnull=True)


def _subject(member: Member, project_id: int | None) -> audit.Subject:
    subject = subject_of(community_id=member.community_id, member_id=member.pk, user_id=member.user_id)
    return replace(subject, project_id=project_id)
