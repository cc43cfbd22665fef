"""The page for people whom a project does not admit: the unmet conditions, and how to meet them."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import urlencode

from django.urls import reverse

from communities.ground.translation import say
from communities.identity_providers import platforms
from communities.models import VerifiedSource
from communities.services.people import identities
from communities.services.tenants import settings as settings_service
from communities.services.tenants import verified_sources
from surveys.drawing import forms, parts
from surveys.drawing.parts import Action, Link, Screen
from surveys.models import Project
from surveys.pages.respondent.visit import Visit, posted_block
from surveys.services.conversations.admission import DEACTIVATED, Missing, NotAdmitted

CHECK_AGAIN = Action("check", "Check again")
_CONNECT, _CONNECT_AGAIN = "Connect your {platform} account", "Connect your {platform} account again"
NOT_ASKED = (
    "We could not ask the other site just now, so this may be out of date. Please check again in a minute."
)


def notice(visit: Visit, refusal: NotAdmitted) -> Screen:
    """The unmet conditions, with buttons to meet them and to return. The typed answer stays visible."""
    request, missing = visit.request, refusal.missing
    is_post = request.method == "POST" and request.POST.get("do") != CHECK_AGAIN.do
    kept = forms.in_words(posted_block(visit), request.POST) if is_post else ""
    title, text = _words(visit, missing)
    wanted = _wanted(visit.project) if {Missing.SOURCE, Missing.SIGN_IN} & {*missing} else []
    return parts.notice(
        title=title,
        text=text,
        kept=kept,
        status=403,
        note="" if visit.asked.could_ask else say(NOT_ASKED),
        items=[source.label for source in wanted],
        links=_links(visit, missing, wanted),
        aside=_aside(visit, missing),
        actions=() if {Missing.SIGN_IN, Missing.ACTIVE_ACCOUNT} & {*missing} else (CHECK_AGAIN,),
    )


def _words(visit: Visit, missing: Sequence[Missing]) -> tuple[str, str]:
    project, person = visit.project, visit.respondent.person
    community = project.community.name
    if Missing.ACTIVE_ACCOUNT in missing:
        wrong = say("If that is wrong, ask the team of {community}.", community=community)
        return say("This account is deactivated."), f"{say(DEACTIVATED)} {wrong}"
    if Missing.SIGN_IN in missing:
        for_whom = _FOR_WHOM[project.is_private, bool(_wanted(project))]
        back = say("You come back here afterwards.")
        return say("Please sign in first."), f"{say(for_whom, community=community)} {back}"
    if Missing.MEMBERSHIP in missing:
        name = person.name if person else ""
        who = say(_NO_MEMBER, name=name) if name else say(_NAMELESS_NO_MEMBER)
        return say(
            "This is for members of {community}.", community=community
        ), f"{who} {_how_to_join(community)}"
    if Missing.ROLE in missing:
        return say("A role is missing."), say(_NO_ROLE, community=community)
    return (
        say("One thing is missing."),
        say("One of these is asked for here. Connect your account, then check again."),
    )


_FOR_WHOM = {  # by whether it is private, and whether it asks for sources
    (True, True): "This is for members of {community} who meet one of these.",
    (True, False): "This is for members of {community}.",
    (False, True): "This is for people who are known by their account and meet one of these.",
    (False, False): "This is for people who are known by their account.",
}
_NO_MEMBER = "You are signed in as {name}, who is not a member of it."
_NAMELESS_NO_MEMBER = "You are signed in with an account that is not a member of it."
_NO_ROLE = (
    "This is for people with a certain role in {community}. Ask its team for the role, then check again."
)


def _how_to_join(community: str) -> str:
    if platforms.is_offered("chat"):
        return say(
            "Join {community} on {platform}, or ask its team to invite you. Then check again.",
            community=community,
            platform=platforms.NAMES["chat"],
        )
    return say("Ask the team of {community} to invite you, then check again.", community=community)


def _wanted(project: Project) -> list[VerifiedSource]:
    ids = ((project.delivery or {}).get("audience") or {}).get("verified_source_ids") or []
    known = verified_sources.in_community(community_id=project.community_id).filter(pk__in=ids)
    return sorted(known, key=lambda source: ids.index(source.pk))


def _links(visit: Visit, missing: Sequence[Missing], wanted: Sequence[VerifiedSource]) -> list[Link]:
    back, project = visit.page.address.partition("?")[0], visit.project
    if Missing.SIGN_IN in missing:
        links = [Link(say("Sign in"), _address("account_login", next=back))]
        if project.is_private and _lets_anybody_in(project):
            sign_up = _address("account_signup", community=project.community_id, next=back)
            links.append(Link(say("Make an account"), sign_up))
        return links
    if Missing.MEMBERSHIP in missing and _lets_anybody_in(project):
        return [Link(say("Become a member"), _address("account_join", project.community_id, next=back))]
    wanted_on = {source.provider for source in wanted} if Missing.SOURCE in missing else set()
    if {Missing.MEMBERSHIP, Missing.ROLE} & {*missing}:
        wanted_on.add("chat")
    connected = {each.provider for each in identities.connected(user_id=visit.respondent.user_id or 0)}
    again = visit.asked.refused  # these platforms no longer accept our token
    offered = [
        each
        for each in platforms.NAMES
        if each in (wanted_on - connected) | again and platforms.is_offered(each)
    ]
    if visit.guest is not None:  # a guest by personal link is not signed in, so they cannot connect accounts
        return [Link(say("Sign in"), _address("account_login", next=back))] if offered else []
    return [
        Link(
            say(_CONNECT_AGAIN if each in again else _CONNECT, platform=platforms.NAMES[each]),
            _address("source_login", each, process="connect", next=back),
        )
        for each in offered
    ]


def _lets_anybody_in(project: Project) -> bool:
    return settings_service.get_settings(community_id=project.community_id).allow_sign_up


def _aside(visit: Visit, missing: Sequence[Missing]) -> Link | None:
    """Another way for people who are signed in. Guests by personal link are not signed in."""
    if Missing.SIGN_IN in missing or visit.guest is not None:
        return None
    back = visit.page.address.partition("?")[0]
    return Link(say("Sign in as somebody else"), _address("account_logout", next=back))


def _address(name: str, *arguments: object, **query: object) -> str:
    return f"{reverse(name, args=arguments)}?{urlencode(query)}"
