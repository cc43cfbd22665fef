"""The people with access to a project, below the tab Share; and what a member's profile says of it."""

from __future__ import annotations

from django import forms
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.db.models import Q
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_http_methods

from communities.forms import once
from communities.ground import privacy_words
from communities.ground.actors import ALL_PROJECTS, Actor, Level, Role
from communities.ground.errors import Refusal
from communities.ground.ids import id_of
from communities.ground.transactions import in_transaction
from communities.ground.words import plural
from communities.models import Member
from communities.services.inviting import invitations
from communities.services.inviting.invitations import Grant
from communities.services.people import members, project_grants
from communities.services.tenants import member_search
from communities.staff import listing, refusals
from surveys.admin.frame import ProjectPage, address_of, project_tab
from surveys.models import Project
from surveys.services.ground import lookup
from surveys.services.projects import sharing
from xp.admin import inviting, profile

MOST_FOUND = 20  # members that a search offers
MEANINGS = {
    Level.READ: (
        "Reads the results",
        "Sees the questions and the results as totals, also while it is a draft. Changes nothing.",
    ),
    Level.EDIT: (
        "Edits",
        "Also changes the questions and the settings, opens and closes it. Sees single responses only where "
        "every member does.",
    ),
    Level.OWN: (
        "Owns",
        "As its author does: sees and deletes single responses, sends personal links, gives others access, "
        "deletes the project.",
    ),
}
ALL_READ = "Reads all results"


class ProjectInviteForm(inviting.AddressesForm, inviting.LinkForm):
    """People who are no members yet, and their access to the project: by mail, or by a link."""

    level = forms.ChoiceField(
        label="Access to this project",
        choices=[(str(level), word) for level, (word, _) in MEANINGS.items()],
    )
    field_order = ("level", "emails", "uses", "ticket")

    def __init__(self, *args: object, is_for_link: bool = False, **options: object) -> None:
        super().__init__(*args, **options)  # type: ignore[arg-type]
        self.fields["emails"].required = not is_for_link
        self.fields["uses"].required = is_for_link
        self.fields["uses"].label = "For a link: how many people may use it?"

    def clean_emails(self) -> list[str]:
        return super().clean_emails() if self.cleaned_data["emails"] else []


@project_tab("share")
@require_http_methods(["GET", "HEAD", "POST"])
def people(request: HttpRequest, page: ProjectPage) -> HttpResponse:
    """The list, and a search for somebody to add; POST gives, changes or takes an access."""
    if not page.may_own:
        raise PermissionDenied
    do = request.POST.get("do", "")
    invites = page.actor.is_admin and do in ("mail", "link")
    if request.method == "POST" and not invites:
        return _change(request, page)
    form = ProjectInviteForm(request.POST if invites else None, is_for_link=do == "link")
    if form.is_valid() and (answer := _invite(request, page, form, is_link=do == "link")):
        return answer
    project = page.project
    given = project_grants.of_project(community_id=project.community_id, project_id=project.pk)
    term = request.GET.get("search", "").replace("\x00", "").strip()[: listing.MAX_SEARCH]
    context = {
        "author": _author(project),
        "rows": [
            {"given": each, "is_own": each.user_id == page.actor.user_id, "word": MEANINGS[each.level][0]}
            for each in given
        ],
        "all_read": ALL_READ,
        "levels": [(str(level), word) for level, (word, _) in MEANINGS.items()],
        "meanings": list(MEANINGS.values()),
        "term": term,
        "found": _found(page, term, {each.member_id for each in given if not each.is_of_all}),
        "most": MOST_FOUND,
        "promise": privacy_words.SEMI_PRIVATE.sentence if _is_private(project) else "",
        "form": form if page.actor.is_admin else None,
        "back": page.address("share"),
    }
    status = 422 if form.errors else 200
    return page.render(request, "admin/surveys/project/people.html", context, status=status)


def _invite(
    request: HttpRequest, page: ProjectPage, form: ProjectInviteForm, *, is_link: bool
) -> HttpResponse | None:
    """Invite people to the community with access to the project. None if the form shows a refusal."""
    here, values = page.address("share_people"), form.cleaned_data
    grant = Grant(Level.of(values["level"]), page.project.pk)
    if is_link:
        return inviting.make_link(request, page.actor, form, grant=grant, back=here)
    try:
        with in_transaction:
            if not once.use(request, values["ticket"]):
                once.say_sent_before(request, inviting.SENT_BEFORE)
                return HttpResponseRedirect(here)
            invited = invitations.invite_all(
                actor=page.actor, emails=values["emails"], access="member", grant=grant, at=page.at
            )
    except Refusal as refusal:
        refusals.add_to_form(form, refusal)
        return None
    messages.success(request, f"{plural(len(invited), 'invitation')} on the way.")
    return HttpResponseRedirect(here)


def _is_private(project: Project) -> bool:
    return project.privacy_mode == Project.PrivacyMode.SEMI_PRIVATE


def _author(project: Project) -> str:
    if project.author_id is None:
        return ""
    return members.display_name(community_id=project.community_id, user_id=project.author_id)


def _found(page: ProjectPage, term: str, listed: set[int]) -> list[dict[str, object]]:
    """The present members whom a search finds, without admins, the author and those in the list."""
    if not term:
        return []
    actor, project = page.actor, page.project
    ids = member_search.find_members(
        community_id=actor.community_id, term=term, by_all_accounts=actor.is_admin
    )
    rows = Member.objects.filter(pk__in=ids, left_at__isnull=True, user__is_active=True)
    rows = rows.exclude(access=Member.Access.ADMIN).exclude(pk__in=listed)
    is_author = Q(access=Member.Access.CREATOR, user_id=project.author_id or 0)
    shown = rows.exclude(is_author).select_related("user").order_by("-pk")[:MOST_FOUND]
    return [{"id": row.pk, "name": profile.name_of(row), "access": row.access} for row in shown]


def _change(request: HttpRequest, page: ProjectPage) -> HttpResponse:
    member_id, word = id_of(request.POST.get("member", "")), request.POST.get("level", "")
    levels = {str(level): level for level in Level}
    if member_id is None or word not in levels:
        raise Http404
    try:
        sharing.give_access(
            actor=page.actor,
            project_id=page.project.pk,
            member_id=member_id,
            level=levels[word],
            at=page.at,
        )
    except members.NoSuchMember:
        raise Http404 from None
    except Refusal as refusal:
        messages.error(request, refusal.message)
    else:
        messages.success(request, "Saved." if levels[word] else "They have no access of their own any more.")
    return HttpResponseRedirect(page.address("share_people"))


# --- A member's profile -----------------------------------------------------------------------------------


@profile.add_sections
def access(request: HttpRequest, actor: Actor, member: Member) -> list[profile.Section]:
    """The projects to which a member was given access, as far as the actor sees them."""
    levels = project_grants.of_member(member)
    if not levels or not (actor.is_admin or actor.user_id == member.user_id):
        return []
    visible = lookup.visible(actor=actor, at=timezone.now()).filter(pk__in=list(levels))
    rows = [
        {
            "name": name,
            "address": address_of(pk, "share_people" if actor.is_admin else "script"),
            "word": MEANINGS[levels[pk]][0],
        }
        for pk, name in visible.order_by("-created_at", "-pk").values_list("pk", "name")
    ]
    context = {"rows": rows, "all_read": ALL_READ if ALL_PROJECTS in levels else ""}
    return [profile.Section(35, "Access to projects", "admin/surveys/member_access.html", context)]


@profile.member_page(
    "reading",
    label="Reading all results",
    order=25,
    least_role=Role.ADMIN,
    is_offered=lambda _, member: member.belongs and not member.is_admin,
)
def reading(request: HttpRequest, actor: Actor, member: Member) -> HttpResponse:
    """Let a member read the results of all projects, or end that."""
    reads = ALL_PROJECTS in project_grants.of_member(member)
    name = profile.name_of(member)
    if request.method == "POST":
        level = Level.NONE if reads else Level.READ
        try:
            project_grants.change(
                actor=actor, member_id=member.pk, project_id=None, level=level, at=timezone.now()
            )
        except Refusal as refusal:
            messages.error(request, refusal.message)
        else:
            done = f"{name} no longer reads all results." if reads else f"{name} reads all results now."
            messages.success(request, done)
        return HttpResponseRedirect(reverse("admin:communities_member_change", args=[member.pk]))
    context = {
        "title": f"End that {name} reads all results?" if reads else f"Let {name} read all results?",
        "consequences": [
            "They see no drafts and no unshared results of others any more. Access to single projects stays."
        ]
        if reads
        else [
            "They see every survey and poll in the admin, with its questions and results, also drafts.",
            "They change nothing, and see single responses only where every member does.",
            "Their API keys keep the rights of their role.",
        ],
        "button": "End it" if reads else "Let them read all results",
        "is_dangerous": reads,
    }
    return profile.render(request, member, "admin/confirm.html", context)
