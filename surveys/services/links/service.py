"""Personal links: addresses that each admit one member to one project (rule 6.4).

    create(…)       links for members, by staff or an API key
    revoke(…)       one that admits nobody any more
    of_project(…)   all links of a project, newest first

`fields` stores the metadata of a link. `opening` admits people who open a link, `mailing` writes to members,
`files` puts the addresses in a file.
"""

from __future__ import annotations

import uuid
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from django.db import connection
from django.db.models import QuerySet

from communities.ground.actors import Actor
from communities.ground.audit_actions import Action
from communities.ground.errors import NotFound, ViolationJson, refuse_all, violation
from communities.ground.ids import id_of
from communities.ground.transactions import in_transaction
from communities.models import Member
from communities.services.mail import recipients as communities
from communities.services.trail import audit
from surveys.models import PersonalLink, Project
from surveys.services.conversations import repository
from surveys.services.ground import access, lookup
from surveys.services.links import fields

VALID_FOR = timedelta(days=30)
MOST_AT_ONCE = 1_000
_ERASE = """
    WITH own AS (DELETE FROM surveys_personallink WHERE member_id = %(member)s)
    UPDATE surveys_personallink link SET created_by_id = NULL FROM surveys_project project
    WHERE link.created_by_id = %(user)s AND link.member_id IS DISTINCT FROM %(member)s
        AND project.id = link.project_id AND project.community_id = %(community)s
"""


def require_owner(*, actor: Actor, project_id: int) -> Project:
    """Return the project. Refuses actors who may not make links: only creators of the project and
    admins may.
    """
    project = lookup.in_community(community_id=actor.community_id, project_id=project_id)
    access.require_owner(actor=actor, project=project)
    return project


@dataclass(frozen=True, slots=True)
class WantedLink:
    """The member for whom a link is to be made, and the link's metadata, with the paths of both in the
    request.
    """

    member_id: str
    metadata: Mapping[str, str] = field(default_factory=dict)
    path: str = "member_id"
    metadata_path: str = "metadata"


@in_transaction
def create(
    *, actor: Actor, project_id: int, wanted: Sequence[WantedLink], at: datetime
) -> list[PersonalLink]:
    """Make these links, in their order.

    Refuses all links, with a violation for each id that is repeated or that is not the id of a present,
    active member. On anonymous projects it refuses metadata.
    """
    require_owner(actor=actor, project_id=project_id)
    # Under the lock, the privacy of the project cannot change.
    project = repository.lock_project(project_id=project_id)
    if project is None:
        raise NotFound("There is no such project.")
    numbers = [id_of(each.member_id) for each in wanted]
    present = communities.keep_present(
        community_id=actor.community_id, member_ids=[each for each in numbers if each is not None]
    )
    carried = {each.metadata_path: each.metadata for each in wanted}
    faults = [*_faults(wanted, numbers, present)]
    for path, metadata in carried.items():
        faults += fields.faults(project, metadata, path=path)
    if faults:
        refuse_all(faults)
    return make(
        actor=actor,
        project=project,
        member_ids=[each for each in numbers if each],
        metadata=[each.metadata for each in wanted],
        at=at,
    )


@in_transaction
def make(
    *,
    actor: Actor,
    project: Project,
    member_ids: Sequence[int],
    metadata: Sequence[Mapping[str, str]] = (),
    at: datetime,
) -> list[PersonalLink]:
    """Make a link for each of these members; the caller prevents their erasure.

    `metadata` contains the metadata of each link, in the same order. It is empty if no link has metadata.
    """
    links = [
        PersonalLink(
            project=project,
            member_id=member_id,
            created_by_id=actor.user_id,
            created_at=at,
            expires_at=at + VALID_FOR,
        )
        for member_id in member_ids
    ]
    for link, carried in zip(links, metadata, strict=False):
        link.sealed_metadata = fields.sealed(link.pk, carried)
    PersonalLink.objects.bulk_create(links)
    if links:
        link_id = links[0].pk if len(links) == 1 else None
        _record(
            Action.LINK_CREATED, project, actor=actor, at=at, link_id=link_id, after={"links": len(links)}
        )
    return links


@in_transaction
def make_with_attributes(
    *, actor: Actor, project: Project, member_ids: Sequence[int], at: datetime
) -> list[PersonalLink]:
    """Make links that send along the members' attributes that are fields of the project (rule 12.205).

    Those of an anonymous project send none, and so do those of other people than admins.
    """
    names = list(project.hidden_fields) if fields.carries_attributes(actor=actor, project=project) else []
    if not names:
        return make(actor=actor, project=project, member_ids=member_ids, at=at)
    written = dict(Member.objects.filter(pk__in=member_ids).values_list("pk", "attributes"))
    carried = [
        {name: own[name] for name in names if name in own}
        for own in (written.get(member_id, {}) for member_id in member_ids)
    ]
    return make(actor=actor, project=project, member_ids=member_ids, metadata=carried, at=at)


@in_transaction
def revoke(*, actor: Actor, link_id: uuid.UUID, project_id: int | None = None, at: datetime) -> None:
    """Revoke a link, so that the link admits nobody. A second revocation changes nothing.

    Raises NotFound for a link that the project does not have; without `project_id`, for a link that the
    community does not have.
    """
    if project_id is not None:
        require_owner(actor=actor, project_id=project_id)
    links = PersonalLink.objects.filter(project__in=Project.objects.in_community(actor.community_id))
    link = links.select_for_update(of=("self",)).filter(pk=link_id).first()
    if link is None or project_id not in (None, link.project_id):
        raise NotFound("There is no such link.")
    project = require_owner(actor=actor, project_id=link.project_id)
    if link.revoked_at is None:
        link.revoked_at = at
        link.save(update_fields=["revoked_at"])
        _record(Action.LINK_REVOKED, project, actor=actor, at=at, link_id=link.pk, after={"revoked_at": at})


def of_project(*, project: Project) -> QuerySet[PersonalLink]:
    """The links of a project, newest first."""
    return PersonalLink.objects.filter(project=project).order_by("-created_at", "-pk")


def with_names(links: QuerySet[PersonalLink]) -> QuerySet[PersonalLink]:
    """The same links, each with its member and their user."""
    return links.select_related("member__user")


def used_at(link: PersonalLink, project: Project) -> datetime | None:
    """When a link was first opened; always None on anonymous projects."""
    return None if project.is_anonymous else link.used_at


# --- What belongs to a person ---------------------------------------------------------------------------


def personal_data(*, member_id: int) -> list[dict[str, object]]:
    """The links that were made for a member."""
    links = (
        PersonalLink.objects.filter(member_id=member_id)
        .select_related("project")
        .order_by("created_at", "pk")
    )
    return [
        {
            "id": str(link.pk),
            "project_id": str(link.project_id),
            "created_at": link.created_at,
            "expires_at": link.expires_at,
            "revoked_at": link.revoked_at,
            "used_at": used_at(link, link.project),
            "mailed_at": link.mailed_at,
            "reminded_at": link.reminded_at,
            "metadata": fields.of_link(link, link.project) or None,
        }
        for link in links
    ]


def erase(*, community_id: int, member_id: int | None, user_id: int) -> None:
    """Delete the links that were made for a member, and remove the user from links that the user made for
    others.
    """
    with connection.cursor() as cursor:
        cursor.execute(_ERASE, {"community": community_id, "member": member_id, "user": user_id})


# --- Parts ----------------------------------------------------------------------------------------------


def record_export(project: Project, *, actor: Actor, format: str, at: datetime) -> None:
    """Record that the actor got all addresses as a file."""
    _record(Action.LINKS_EXPORTED, project, actor=actor, at=at, after={"format": format})


def record_mails(project: Project, *, actor: Actor, after: Mapping[str, object], at: datetime) -> None:
    """Record that the actor mailed links."""
    _record(Action.LINKS_MAILED, project, actor=actor, at=at, after=after)


def _record(
    action: Action,
    project: Project,
    *,
    actor: Actor,
    at: datetime,
    after: Mapping[str, object],
    link_id: uuid.UUID | None = None,
) -> None:
    """Write an entry that names the link and never its member, who may be erased."""
    on = audit.Subject(project.community_id, "link", link_id, project.name, project.pk)
    audit.record(actor=actor, action=action, on=on, at=at, after=after)


def _faults(
    wanted: Sequence[WantedLink], numbers: Sequence[int | None], present: Collection[int]
) -> Iterator[ViolationJson]:
    seen: set[int] = set()
    for each, number in zip(wanted, numbers, strict=True):
        if number is None or number not in present:
            message = f"`{each.path}` is not the id of a present, active member of this community."
            yield violation(each.path, "not_found", message)
        elif number in seen:
            yield violation(each.path, "duplicate", f"`{each.path}` is in the list twice.")
        else:
            seen.add(number)
