"""Asks for every address of the admin in every role; the table is written by hand from decisions 2.2.

A new address fails the first test until it has a row. A row says the status of GET, and of POST with an
empty body, for objects of the first community. Its columns are those of `ROLES`: a visitor without a
session, staff of no community, a member, the creator of the project, an admin, an admin of another
community, a superuser. No body may contain a word of a community that the role does not belong to, and
objects of another community look absent.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from importlib import import_module
from typing import Any

import pytest
from django.conf import settings
from django.contrib import admin
from django.urls import URLPattern, URLResolver

from tests.support.database import kept_for_many_tests, taken_back
from tests.support.pictures import foreign_pictures
from tests.support.two_communities import ROLES, FilledCommunity, TwoCommunities, arguments, two_communities

pytestmark = pytest.mark.django_db

SAME = "same"  # POST gives the same statuses as GET

# Everybody who signs in.
STAFF = "302 200 200 200 200 200 200"
GOES_ON = "302 302 302 302 302 302 302"
# Lists show the rows of one's own community, so an admin of another one has their own.
LIST_OF_MEMBERS = "302 404 200 200 200 200 200"
LIST_OF_CREATORS = "302 404 404 200 200 200 200"
LIST_OF_ADMINS = "302 404 404 404 200 200 200"
# Pages of one object.
PAGE_OF_MEMBERS = "302 404 200 200 200 404 200"
PAGE_OF_CREATORS = "302 404 404 200 200 404 200"
PAGE_OF_ADMINS = "302 404 404 404 200 404 200"
LEADS_ADMINS_ON = "302 404 404 404 302 404 302"
JSON_OF_CREATORS = "401 404 404 200 200 404 200"
# Superusers alone: as refused by our own pages, and by Django's.
SUPERUSERS = "302 404 404 404 404 404 200"
LEADS_SUPERUSERS_ON = "302 404 404 404 404 404 302"
SUPERUSERS_DJANGO = "302 403 403 403 403 403 200"
NOBODY = "302 404 404 404 404 404 404"
NOBODY_DJANGO = "302 403 403 403 403 403 403"
# Those who may edit a project; others who see it are told that they may not.
EDITORS = "302 404 403 200 200 404 200"
NO_SUCH_METHOD_FOR_EDITORS = "302 404 403 405 405 404 405"
# A method that an address does not take, asked before or after the sign-in and the role.
NO_SUCH_METHOD = "405 405 405 405 405 405 405"
NO_SUCH_METHOD_FOR_STAFF = "302 405 405 405 405 405 405"
NO_SUCH_METHOD_FOR_ADMINS = "302 404 404 404 405 404 405"
NO_SUCH_METHOD_FOR_MEMBERS = "302 404 405 405 405 404 405"


def _pages(model: str, **rows: tuple[str, str]) -> dict[str, tuple[str, str]]:
    """The rows of a model: those that every model has, absent unless given, and further ones."""
    fixed = {"add": NOBODY, "history": NOBODY, "delete": NOBODY, "change": NOBODY}
    found = {name: rows.pop(name, (status, SAME)) for name, status in fixed.items()}
    return {
        f"{model}/": rows.pop("list"),
        f"{model}/add/": found.pop("add"),
        **{f"{model}/<path:object_id>/{name}/": row for name, row in found.items()},
        # Django leads from the short address on to the page, without looking at the object.
        f"{model}/<path:object_id>/": (GOES_ON, SAME),
        **{f"{model}/{name.replace('__', '/')}/": row for name, row in rows.items()},
    }


def _django_pages(model: str, **rows: tuple[str, str]) -> dict[str, tuple[str, str]]:
    """The rows of a model with Django's own pages, read-only and for superusers alone."""
    return _pages(
        model,
        **{
            "list": (SUPERUSERS_DJANGO, SAME),
            "add": (NOBODY_DJANGO, SAME),
            "delete": (NOBODY_DJANGO, SAME),
            "history": (SUPERUSERS_DJANGO, SAME),
            "change": (SUPERUSERS_DJANGO, NOBODY_DJANGO),
            **rows,
        },
    )


def _below(model: str, argument: str, **rows: tuple[str, str]) -> dict[str, tuple[str, str]]:
    """The rows of further pages of one object."""
    return {f"{model}/<{argument}>/{name.replace('__', '/')}/": row for name, row in rows.items()}


TABLE: dict[str, tuple[str, str]] = {
    "": (STAFF, SAME),
    "login/": (GOES_ON, SAME),
    "logout/": (GOES_ON, SAME),
    "password_change/": (GOES_ON, SAME),
    "password_change/done/": (GOES_ON, SAME),
    "autocomplete/": (NOBODY_DJANGO, NO_SUCH_METHOD_FOR_STAFF),
    "jsi18n/": ("302 200 200 200 200 200 200", NO_SUCH_METHOD_FOR_STAFF),
    "r/<path:content_type_id>/<path:object_id>/": (NOBODY, SAME),
    "^(?P<app_label>APPS)/$": (GOES_ON, SAME),
    "(?P<url>.*)$": (NOBODY, SAME),
    "picture/": (LIST_OF_CREATORS, NO_SUCH_METHOD_FOR_STAFF),
    "community/<int:community_id>/": (
        NO_SUCH_METHOD_FOR_STAFF,
        "302 404 302 302 302 404 302",
    ),
    **_pages(
        "communities/community",
        list=(SUPERUSERS, SAME),
        add=(SUPERUSERS, SAME),
        change=(LEADS_SUPERUSERS_ON, SAME),
    ),
    **_pages(
        "communities/communitysettings",
        list=("302 404 404 404 302 302 302", SAME),
        change=(PAGE_OF_ADMINS, SAME),
    ),
    **_pages(
        "communities/chatinstallation",
        list=("302 404 404 404 302 302 302", SAME),
        change=(PAGE_OF_ADMINS, SAME),
    ),
    **_below(
        "communities/chatinstallation",
        "path:object_id",
        check=(NO_SUCH_METHOD_FOR_ADMINS, LEADS_ADMINS_ON),
    ),
    "communities/chatinstallation/<path:object_id>/again/<int:task_id>/": (
        NO_SUCH_METHOD_FOR_ADMINS,
        LEADS_ADMINS_ON,
    ),
    **_pages(
        "communities/apikey",
        list=(LIST_OF_ADMINS, SAME),
        add=(LIST_OF_ADMINS, SAME),
        change=(PAGE_OF_ADMINS, SAME),
    ),
    **_below(
        "communities/apikey",
        "path:object_id",
        rotate=(PAGE_OF_ADMINS, SAME),
        revoke=(PAGE_OF_ADMINS, LEADS_ADMINS_ON),
    ),
    **_pages(
        "communities/verifiedsource",
        list=(LIST_OF_ADMINS, SAME),
        add=(LIST_OF_ADMINS, SAME),
        change=(PAGE_OF_ADMINS, SAME),
    ),
    **_below(
        "communities/verifiedsource",
        "path:object_id",
        edit=(PAGE_OF_ADMINS, SAME),
        remove=(PAGE_OF_ADMINS, LEADS_ADMINS_ON),
    ),
    **_pages(
        "communities/member",
        list=(LIST_OF_MEMBERS, SAME),
        add=(LIST_OF_ADMINS, SAME),
        change=(PAGE_OF_MEMBERS, SAME),
        invite=(LIST_OF_ADMINS, SAME),
    ),
    **_below(
        "communities/member",
        "int:member_id",
        award=(PAGE_OF_ADMINS, SAME),
        reset=(PAGE_OF_ADMINS, LEADS_ADMINS_ON),
        ledger=(PAGE_OF_ADMINS, SAME),
        access=(PAGE_OF_ADMINS, SAME),
        invite=(PAGE_OF_ADMINS, SAME),
        email=(PAGE_OF_ADMINS, LEADS_ADMINS_ON),
        data=(PAGE_OF_ADMINS, SAME),
        erase=(PAGE_OF_ADMINS, SAME),
    ),
    **_pages(
        "xp/achievement",
        list=(LIST_OF_MEMBERS, SAME),
        add=(LIST_OF_ADMINS, SAME),
        change=(PAGE_OF_MEMBERS, SAME),
    ),
    **_below("xp/achievement", "path:object_id", edit=(PAGE_OF_ADMINS, SAME)),
    **_pages("xp/rolegrant", list=(LIST_OF_ADMINS, SAME)),
    **_below("xp/rolegrant", "int:object_id", again=(NO_SUCH_METHOD_FOR_ADMINS, LEADS_ADMINS_ON)),
    **_django_pages("communities/idempotentrequest"),
    **_django_pages(
        "communities/user",
        add=(SUPERUSERS_DJANGO, SAME),
        history=(SUPERUSERS_DJANGO, SAME),
        change=(SUPERUSERS_DJANGO, SAME),
    ),
    "communities/user/<id>/password/": (SUPERUSERS_DJANGO, SAME),
    "communities/user/<path:object_id>/sign-in/": (SUPERUSERS, SAME),
    # Superusers show first who they are.
    "communities/user/<path:object_id>/sign-in/end/": (LEADS_SUPERUSERS_ON, SAME),
    "communities/user/<path:object_id>/sign-in/remove/": (LEADS_SUPERUSERS_ON, SAME),
    **_django_pages(
        "auth/group",
        add=(SUPERUSERS_DJANGO, SAME),
        change=(SUPERUSERS_DJANGO, SAME),
        delete=(SUPERUSERS_DJANGO, "302 403 403 403 403 403 200"),
    ),
    "health/": (SUPERUSERS, SAME),
    "communities/auditentry/": (LIST_OF_ADMINS, SAME),
    "communities/auditentry/<path:object_id>/": (GOES_ON, SAME),
    "communities/auditentry/<path:object_id>/change/": (PAGE_OF_ADMINS, SAME),
    "communities/auditentry/<path:object_id>/delete/": (NOBODY, SAME),
    "communities/auditentry/<path:object_id>/history/": (NOBODY, SAME),
    "communities/auditentry/add/": (NOBODY, SAME),
    "communities/auditentry/export/<str:format>/": (LIST_OF_ADMINS, SAME),
    "webhooks/delivery/": (LIST_OF_ADMINS, SAME),
    "webhooks/delivery/<path:object_id>/": (GOES_ON, SAME),
    "webhooks/delivery/<path:object_id>/change/": (PAGE_OF_ADMINS, SAME),
    "webhooks/delivery/<path:object_id>/delete/": (NOBODY, SAME),
    "webhooks/delivery/<path:object_id>/history/": (NOBODY, SAME),
    "webhooks/delivery/<uuid:object_id>/progress/": (PAGE_OF_ADMINS, SAME),
    "webhooks/delivery/<uuid:object_id>/redeliver/": (LEADS_ADMINS_ON, SAME),
    "webhooks/delivery/add/": (NOBODY, SAME),
    "webhooks/event/": (SUPERUSERS_DJANGO, SAME),
    "webhooks/event/<path:object_id>/": (GOES_ON, SAME),
    "webhooks/event/<path:object_id>/change/": (NOBODY, SAME),
    "webhooks/event/<path:object_id>/delete/": (NOBODY_DJANGO, SAME),
    "webhooks/event/<path:object_id>/history/": (SUPERUSERS_DJANGO, SAME),
    "webhooks/event/add/": (NOBODY_DJANGO, SAME),
    "webhooks/webhook/": (LIST_OF_ADMINS, SAME),
    "webhooks/webhook/<int:object_id>/delete/": (PAGE_OF_ADMINS, LEADS_ADMINS_ON),
    "webhooks/webhook/<int:object_id>/edit/": (PAGE_OF_ADMINS, SAME),
    "webhooks/webhook/<int:object_id>/ping/": (LEADS_ADMINS_ON, SAME),
    "webhooks/webhook/<int:object_id>/redeliver/": (PAGE_OF_ADMINS, SAME),
    "webhooks/webhook/<int:object_id>/restore/": ("302 404 404 404 302 302 302", SAME),
    "webhooks/webhook/<int:object_id>/rotate/": (PAGE_OF_ADMINS, SAME),
    "webhooks/webhook/<path:object_id>/": (GOES_ON, SAME),
    "webhooks/webhook/<path:object_id>/change/": (PAGE_OF_ADMINS, SAME),
    "webhooks/webhook/<path:object_id>/delete/": (PAGE_OF_ADMINS, LEADS_ADMINS_ON),
    "webhooks/webhook/<path:object_id>/history/": (NOBODY, SAME),
    "webhooks/webhook/add/": (LIST_OF_ADMINS, SAME),
    "surveys/analysis/": (LIST_OF_CREATORS, SAME),
    "surveys/analysis/<path:object_id>/": (GOES_ON, SAME),
    "surveys/analysis/<path:object_id>/change/": ("302 404 404 302 302 404 302", SAME),
    "surveys/analysis/<path:object_id>/delete/": (NOBODY, SAME),
    "surveys/analysis/<path:object_id>/history/": (NOBODY, SAME),
    "surveys/analysis/add/": (NOBODY, SAME),
    "surveys/project/": (LIST_OF_MEMBERS, SAME),
    "surveys/project/<int:project_id>/delivery/": (PAGE_OF_MEMBERS, "302 404 403 200 200 404 200"),
    "surveys/project/<int:project_id>/history/": ("302 404 403 200 200 404 200", NO_SUCH_METHOD_FOR_MEMBERS),
    "surveys/project/<int:project_id>/history/<uuid:entry_id>/": (NOBODY, "302 404 405 405 405 404 405"),
    "surveys/project/<int:project_id>/history/export/<str:format>/": (
        PAGE_OF_CREATORS,
        NO_SUCH_METHOD_FOR_MEMBERS,
    ),
    "surveys/project/<int:project_id>/look/": (PAGE_OF_MEMBERS, "302 404 403 200 200 404 200"),
    "surveys/project/<int:project_id>/look/preview/": (PAGE_OF_MEMBERS, NO_SUCH_METHOD_FOR_MEMBERS),
    "surveys/project/<int:project_id>/open/": ("302 404 403 200 200 404 200", SAME),
    "surveys/project/<int:project_id>/rename/": ("302 404 403 200 200 404 200", SAME),
    "surveys/project/<int:project_id>/responses/": (PAGE_OF_MEMBERS, NO_SUCH_METHOD_FOR_MEMBERS),
    "surveys/project/<int:project_id>/responses/<uuid:response_id>/": (
        PAGE_OF_MEMBERS,
        NO_SUCH_METHOD_FOR_MEMBERS,
    ),
    "surveys/project/<int:project_id>/responses/<uuid:response_id>/delete/": (
        "302 404 403 200 200 404 200",
        "302 404 403 303 303 404 303",
    ),
    "surveys/project/<int:project_id>/responses/<uuid:response_id>/restore/": (
        NO_SUCH_METHOD_FOR_MEMBERS,
        "302 404 403 303 303 404 303",
    ),
    "surveys/project/<int:project_id>/results/": (PAGE_OF_MEMBERS, NO_SUCH_METHOD_FOR_MEMBERS),
    "surveys/project/<int:project_id>/results/analyse/": (
        "302 404 403 302 302 404 302",
        "302 404 403 303 303 404 303",
    ),
    "surveys/project/<int:project_id>/results/analysis/": (
        "302 404 204 204 204 404 204",
        NO_SUCH_METHOD_FOR_MEMBERS,
    ),
    "surveys/project/<int:project_id>/results/answers/<int:block_id>/": (
        PAGE_OF_MEMBERS,
        NO_SUCH_METHOD_FOR_MEMBERS,
    ),
    "surveys/project/<int:project_id>/results/counting/": (
        "302 404 204 204 204 404 204",
        NO_SUCH_METHOD_FOR_MEMBERS,
    ),
    "surveys/project/<int:project_id>/results/export/": (PAGE_OF_MEMBERS, NO_SUCH_METHOD_FOR_MEMBERS),
    "surveys/project/<int:project_id>/results/exported/": (PAGE_OF_MEMBERS, NO_SUCH_METHOD_FOR_MEMBERS),
    "surveys/project/<int:project_id>/rewards/": (PAGE_OF_MEMBERS, "302 404 403 302 302 404 302"),
    "surveys/project/<int:project_id>/script/": (PAGE_OF_CREATORS, NO_SUCH_METHOD_FOR_STAFF),
    "surveys/project/<int:project_id>/script/blocks/<int:block_id>/answers/": (
        JSON_OF_CREATORS,
        NO_SUCH_METHOD,
    ),
    "surveys/project/<int:project_id>/script/draft/": (NO_SUCH_METHOD, SAME),
    "surveys/project/<int:project_id>/script/duplicate/": (NO_SUCH_METHOD, "401 404 404 201 201 404 201"),
    "surveys/project/<int:project_id>/script/export/": (JSON_OF_CREATORS, NO_SUCH_METHOD),
    "surveys/project/<int:project_id>/script/flow/": (NO_SUCH_METHOD, JSON_OF_CREATORS),
    "surveys/project/<int:project_id>/script/generate/": (NO_SUCH_METHOD, "401 404 404 400 400 404 400"),
    "surveys/project/<int:project_id>/script/generate/<int:job_id>/": (
        "401 404 404 404 404 404 404",
        NO_SUCH_METHOD,
    ),
    "surveys/project/<int:project_id>/script/logic/": (NO_SUCH_METHOD, "401 404 404 400 400 404 400"),
    "surveys/project/<int:project_id>/script/preview/": (PAGE_OF_CREATORS, SAME),
    "surveys/project/<int:project_id>/script/preview/restart/": (NO_SUCH_METHOD, JSON_OF_CREATORS),
    "surveys/project/<int:project_id>/script/preview/state/": (JSON_OF_CREATORS, NO_SUCH_METHOD),
    "surveys/project/<int:project_id>/script/projects/": (JSON_OF_CREATORS, NO_SUCH_METHOD),
    "surveys/project/<int:project_id>/script/save/": (NO_SUCH_METHOD, "401 404 404 400 400 404 400"),
    "surveys/project/<int:project_id>/script/scoring/": (NO_SUCH_METHOD, "401 404 404 409 409 404 409"),
    "surveys/project/<int:project_id>/script/templates/": (JSON_OF_CREATORS, NO_SUCH_METHOD),
    "surveys/project/<int:project_id>/share/": (PAGE_OF_MEMBERS, "302 404 403 302 302 404 302"),
    "surveys/project/<int:project_id>/share/new-address/": (
        "302 404 403 200 200 404 200",
        "302 404 403 302 302 404 302",
    ),
    "surveys/project/<int:project_id>/share/values/": (PAGE_OF_MEMBERS, NO_SUCH_METHOD_FOR_MEMBERS),
    "surveys/project/<int:project_id>/share/links/": (EDITORS, NO_SUCH_METHOD_FOR_EDITORS),
    "surveys/project/<int:project_id>/share/links/send/": (EDITORS, "302 404 403 422 422 404 422"),
    "surveys/project/<int:project_id>/share/links/file/<str:format>/": (EDITORS, NO_SUCH_METHOD_FOR_EDITORS),
    "surveys/project/<int:project_id>/share/links/<uuid:link_id>/": (EDITORS, NO_SUCH_METHOD_FOR_EDITORS),
    "surveys/project/<int:project_id>/share/links/<uuid:link_id>/revoke/": (
        NO_SUCH_METHOD_FOR_EDITORS,
        "302 404 403 303 303 404 303",
    ),
    "surveys/project/<path:object_id>/": (GOES_ON, SAME),
    "surveys/project/<path:object_id>/change/": ("302 404 302 302 302 404 302", SAME),
    "surveys/project/<path:object_id>/delete/": ("302 404 302 302 302 404 302", SAME),
    "surveys/project/<path:object_id>/history/": ("302 404 403 200 200 404 200", NO_SUCH_METHOD_FOR_MEMBERS),
    "surveys/project/add/": (LIST_OF_CREATORS, SAME),
    "surveys/project/clone/": (NOBODY, SAME),
    "surveys/project/close/": (NOBODY, SAME),
    "surveys/project/delete/": (NOBODY, SAME),
    "surveys/project/restore/": (NO_SUCH_METHOD_FOR_STAFF, "302 404 302 302 302 302 302"),
}


def routes() -> dict[str, URLPattern]:
    """Every address of the admin by its route."""
    import_module(settings.ROOT_URLCONF)  # registers what the admin has
    return dict(_walk(admin.site.get_urls(), ""))


def _walk(patterns: list[URLPattern | URLResolver], prefix: str) -> Iterator[tuple[str, URLPattern]]:
    for each in patterns:
        route = f"{prefix}{each.pattern}"
        if isinstance(each, URLResolver):
            yield from _walk(each.url_patterns, route)
        else:
            yield _general(route), each


def _general(route: str) -> str:
    """A route, with any list of apps replaced, which follows from the other routes."""
    return "^(?P<app_label>APPS)/$" if route.startswith("^(?P<app_label>") else route


def _address(route: str, pattern: URLPattern, community: FilledCommunity) -> str:
    parts = route.split("/")
    model = parts[1] if len(parts) > 1 else ""
    names = list(pattern.pattern.regex.groupindex)
    values = arguments(community, names, model)
    path = (
        route
        if not route.startswith(("^", "("))
        else ("communities/" if "app_label" in route else "nowhere/")
    )
    for name in names:
        for converter in ("", "int:", "path:", "uuid:", "str:", "slug:"):
            path = path.replace(f"<{converter}{name}>", str(values[name]))
    return f"/admin/{path}"


def _ask(here: TwoCommunities, role: str, method: str, address: str) -> Any:
    """Ask, and take back what it changed, the end of a session too."""
    client = here.clients[role]
    cookies = copy(client.cookies)
    with taken_back():
        answer = getattr(client, method)(address)
        if hasattr(answer, "streaming_content"):
            answer.content_read = b"".join(answer.streaming_content)
    client.cookies = cookies
    return answer


def _said(answer: Any) -> str:
    body = getattr(answer, "content_read", None) or answer.content
    return (body.decode(errors="replace") + answer.get("Location", "")).lower()


def test_every_address_has_a_row_and_every_row_an_address() -> None:
    found = set(routes())

    assert sorted(found - set(TABLE)) == []
    assert sorted(set(TABLE) - found) == []


@pytest.fixture(scope="module")
def here(django_db_setup: None, django_db_blocker: Any) -> Iterator[TwoCommunities]:
    with kept_for_many_tests(django_db_blocker):
        yield two_communities()


@pytest.mark.parametrize("route", sorted(TABLE))
def test_each_role_gets_what_the_table_says_and_no_word_of_others(route: str, here: TwoCommunities) -> None:
    pattern = routes()[route]
    get, post = TABLE[route]
    wrong: list[tuple[object, ...]] = []
    for method, expected in (("get", get), ("post", get if post == SAME else post)):
        statuses = dict(zip(ROLES, map(int, expected.split()), strict=True))
        for role in ROLES:
            communities = [here.own]
            if role in ("member", "creator", "admin") and pattern.pattern.regex.groupindex:
                communities.append(here.other)
            for community in communities:
                answer = _ask(here, role, method, _address(route, pattern, community))
                # An object of another community looks as this one looks to an admin of another, or absent.
                allowed = {statuses[role]} if community is here.own else {statuses["foreign admin"], 404}
                if answer.status_code not in allowed:
                    wrong.append((method, role, community.word, answer.status_code, allowed))
                if "img-src 'self' data:;" not in answer["Content-Security-Policy"]:
                    wrong.append((method, role, community.word, "may load pictures from elsewhere"))
                wrong += [(method, role, "shows", src) for src in foreign_pictures(_said(answer))]
                words = [word for word in here.hidden_from(role) if word in _said(answer)]
                # Addresses that were asked for come back in redirects; they hold ids only.
                wrong += [(method, role, community.word, "says", word) for word in words]
    assert wrong == []
