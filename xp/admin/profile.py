"""A member's profile: its registry of sections and pages, to which each app adds its own.

@add_sections               a function (request, actor, member) -> sections of the profile
@member_page("award", …)    a view (request, actor, member) -> response at `…/member/<id>/award/`
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from django.contrib import admin
from django.http import Http404, HttpRequest
from django.http.response import HttpResponseBase
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse

from communities.ground.actors import Actor, Role
from communities.ground.ids import MAX_ID
from communities.models import Member
from communities.staff import acting


@dataclass(frozen=True, slots=True)
class Section:
    """A part of a profile: a template, which shows `section`. Sections are sorted by `order`."""

    order: int
    title: str
    template: str
    context: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class MemberPage:
    """A page below a member's profile. With a label it has a button on the profile."""

    name: str
    view: MemberView
    least_role: Role
    label: str
    order: int
    is_offered: Callable[[Actor, Member], bool]

    @property
    def url_name(self) -> str:
        return f"communities_member_{self.name}"


MemberView = Callable[[HttpRequest, Actor, Member], HttpResponseBase]
SectionSource = Callable[[HttpRequest, Actor, Member], Sequence[Section]]
_sources: list[SectionSource] = []
_pages: list[MemberPage] = []


def add_sections(source: SectionSource) -> SectionSource:
    """Register a function that returns the sections of a profile that the actor may see. A decorator."""
    _sources.append(source)
    return source


def member_page(
    name: str,
    *,
    least_role: Role = Role.ADMIN,
    label: str = "",
    order: int = 0,
    is_offered: Callable[[Actor, Member], bool] = lambda actor, member: True,
) -> Callable[[MemberView], MemberView]:
    """Register a page below each member's profile. People with a lower role cannot see the page.

    With a `label` the profile has a button for the page; `{xp}` in the label is replaced by the community's
    name for XP.
    """

    def register(view: MemberView) -> MemberView:
        _pages.append(MemberPage(name, view, least_role, label, order, is_offered))
        return view

    return register


def sections(request: HttpRequest, actor: Actor, member: Member) -> list[Section]:
    """The sections of a profile that the actor may see."""
    all_sections = (section for source in _sources for section in source(request, actor, member))
    return sorted(all_sections, key=lambda section: section.order)


def tools(actor: Actor, member: Member, *, xp_name: str) -> list[tuple[str, str]]:
    """The buttons of a profile: labels and addresses."""
    return [
        (page.label.format(xp=xp_name), address(member.pk, page.name))
        for page in sorted(_pages, key=lambda page: page.order)
        if page.label and actor.has_role(page.least_role) and page.is_offered(actor, member)
    ]


def urls() -> list[URLPattern]:
    """The patterns of all pages, below `/admin/communities/member/`."""
    return [
        path(f"<int:member_id>/{page.name}/", admin.site.admin_view(_opened(page)), name=page.url_name)
        for page in _pages
    ]


def address(member_id: int, page: str = "change") -> str:
    """The address of a member's profile, or of one of the pages below it."""
    return reverse(f"admin:communities_member_{page}", args=[member_id])


def name_of(member: Member) -> str:
    """A member's name in the community: nick, else name, else id."""
    return member.nick or member.user.name or f"Member {member.pk}"


def open_member(request: HttpRequest, member_id: int, *, least_role: Role) -> tuple[Actor, Member]:
    """A member, and the actor in the member's community, which becomes the current one. Raises Http404."""
    if member_id > MAX_ID:
        raise Http404
    member = Member.objects.select_related("user").filter(pk=member_id).first()
    if member is None:
        raise Http404
    actor = acting.require_actor(request, member.community_id, least=least_role)
    acting.make_current(request, member.community_id)
    return actor, member


def render(
    request: HttpRequest, member: Member, template: str, context: Mapping[str, object]
) -> TemplateResponse:
    """A page of a member in the frame of the site, with a link back to the profile."""
    crumb = {"back": address(member.pk), "back_label": name_of(member)}
    nav = {**admin.site.each_context(request), "opts": Member._meta, "member": member}
    return TemplateResponse(request, template, {**nav, **crumb, **context})


def _opened(page: MemberPage) -> Callable[[HttpRequest, int], HttpResponseBase]:
    def view(request: HttpRequest, member_id: int) -> HttpResponseBase:
        return page.view(request, *open_member(request, member_id, least_role=page.least_role))

    return view
