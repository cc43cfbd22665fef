"""The responses that each role gets from every address of the admin, written by hand from rules 1.26 to 1.31.

A row says the status of GET, and of POST with an empty body, for objects of the first community. The columns
are those of `scene.ROLES`.
"""

from __future__ import annotations

from typing import Any

from tests.support.caller import TEXT

SAME = "same"  # POST gives the same statuses as GET

# Everybody who signs in.
STAFF = "302 200 200 200 200 200 200 200"
GOES_ON = "302 302 302 302 302 302 302 302"
# Lists show the rows of one's own community, so an admin of another one has their own.
LIST_OF_MEMBERS = "302 404 200 200 200 200 200 200"
LIST_OF_CREATORS = "302 404 404 200 200 200 200 200"
LIST_OF_ADMINS = "302 404 404 404 404 200 200 200"
# Pages of one object.
PAGE_OF_MEMBERS = "302 404 200 200 200 200 404 200"
PAGE_OF_CREATORS = "302 404 404 200 200 200 404 200"
PAGE_OF_EDITORS = "302 404 404 404 200 200 404 200"
PAGE_OF_ADMINS = "302 404 404 404 404 200 404 200"
LEADS_ADMINS_ON = "302 404 404 404 404 302 404 302"
JSON_OF_EDITORS = "401 404 404 403 200 200 404 200"
JSON_OF_CREATORS = "401 404 404 200 200 200 404 200"
# Superusers alone: as refused by our own pages, and by Django's.
SUPERUSERS = "302 404 404 404 404 404 404 200"
LEADS_SUPERUSERS_ON = "302 404 404 404 404 404 404 302"
SUPERUSERS_DJANGO = "302 403 403 403 403 403 403 200"
NOBODY = "302 404 404 404 404 404 404 404"
NOBODY_DJANGO = "302 403 403 403 403 403 403 403"
# People who may edit a project. Others who may read it get a page that says that they may not edit it.
EDITORS = "302 404 403 403 200 200 404 200"
NO_SUCH_METHOD_FOR_EDITORS = "302 404 403 403 405 405 404 405"
# The same on tabs of the script and the settings, which members do not open (rule 1.88).
OWN_EDITORS = "302 404 404 403 200 200 404 200"
NO_METHOD_FOR_OWN_EDITORS = "302 404 404 403 405 405 404 405"
# A method that an address does not accept, checked before or after the sign-in and the role.
NO_SUCH_METHOD_FOR_CREATORS = "401 404 404 405 405 405 404 405"
NO_SUCH_METHOD_OF_EDITORS = "401 404 404 403 405 405 404 405"
NO_SUCH_METHOD_OF_LIST = "302 404 404 404 404 405 405 405"
NO_SUCH_METHOD_FOR_STAFF = "302 405 405 405 405 405 405 405"
NO_SUCH_METHOD_FOR_ADMINS = "302 404 404 404 404 405 404 405"
NO_SUCH_METHOD_FOR_MEMBERS = "302 404 405 405 405 405 404 405"
NO_SUCH_METHOD_OF_SETTINGS = "302 404 404 405 405 405 404 405"


def _pages(model: str, **rows: tuple[str, str]) -> dict[str, tuple[str, str]]:
    """The rows of a model: the pages that every model has, 404 unless given, and further pages."""
    fixed = {"add": NOBODY, "history": NOBODY, "delete": NOBODY, "change": NOBODY}
    found = {name: rows.pop(name, (status, SAME)) for name, status in fixed.items()}
    return {
        f"{model}/": rows.pop("list"),
        f"{model}/add/": found.pop("add"),
        **{f"{model}/<path:object_id>/{name}/": row for name, row in found.items()},
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
    "jsi18n/": ("302 200 200 200 200 200 200 200", NO_SUCH_METHOD_FOR_STAFF),
    "r/<path:content_type_id>/<path:object_id>/": (NOBODY, SAME),
    "^(?P<app_label>APPS)/$": (GOES_ON, SAME),
    "(?P<url>.*)$": (NOBODY, SAME),
    "failed-work/": (LIST_OF_ADMINS, SAME),
    "members-from-list/": (LIST_OF_ADMINS, "302 404 404 404 404 422 422 422"),
    "members-from-list-read/": (NO_SUCH_METHOD_OF_LIST, "302 404 404 404 404 400 400 400"),
    "picture/": (LIST_OF_CREATORS, NO_SUCH_METHOD_FOR_STAFF),
    "picture/upload/": (NO_SUCH_METHOD_FOR_STAFF, "302 404 404 400 400 400 400 400"),
    "community/<int:community_id>/": (
        NO_SUCH_METHOD_FOR_MEMBERS,
        "302 404 302 302 302 302 404 302",
    ),
    **_pages(
        "communities/community",
        list=(SUPERUSERS, SAME),
        add=(SUPERUSERS, SAME),
        change=(LEADS_SUPERUSERS_ON, SAME),
    ),
    **_pages(
        "communities/communitysettings",
        list=("302 404 404 404 404 302 302 302", SAME),
        change=(PAGE_OF_ADMINS, SAME),
    ),
    **_pages(
        "communities/chatinstallation",
        list=("302 404 404 404 404 302 302 302", SAME),
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
        reading=(PAGE_OF_ADMINS, LEADS_ADMINS_ON),
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
    "communities/user/<path:object_id>/sign-in/end/": (SUPERUSERS, LEADS_SUPERUSERS_ON),
    "communities/user/<path:object_id>/sign-in/remove/": (SUPERUSERS, LEADS_SUPERUSERS_ON),
    **_django_pages(
        "auth/group",
        add=(SUPERUSERS_DJANGO, SAME),
        change=(SUPERUSERS_DJANGO, SAME),
        delete=(SUPERUSERS_DJANGO, "302 403 403 403 403 403 403 200"),
    ),
    "health/": (SUPERUSERS, SAME),
    "communities/auditentry/": (LIST_OF_ADMINS, SAME),
    "communities/auditentry/<path:object_id>/change/": (PAGE_OF_ADMINS, SAME),
    "communities/auditentry/<path:object_id>/delete/": (NOBODY, SAME),
    "communities/auditentry/<path:object_id>/history/": (NOBODY, SAME),
    "communities/auditentry/add/": (NOBODY, SAME),
    "communities/auditentry/export/<str:format>/": (LIST_OF_ADMINS, SAME),
    "webhooks/delivery/": (LIST_OF_ADMINS, SAME),
    "webhooks/delivery/<path:object_id>/change/": (PAGE_OF_ADMINS, SAME),
    "webhooks/delivery/<path:object_id>/delete/": (NOBODY, SAME),
    "webhooks/delivery/<path:object_id>/history/": (NOBODY, SAME),
    "webhooks/delivery/<uuid:object_id>/progress/": (PAGE_OF_ADMINS, SAME),
    "webhooks/delivery/<uuid:object_id>/redeliver/": (LEADS_ADMINS_ON, SAME),
    "webhooks/delivery/add/": (NOBODY, SAME),
    "webhooks/event/": (SUPERUSERS_DJANGO, SAME),
    "webhooks/event/<path:object_id>/change/": (NOBODY, SAME),
    "webhooks/event/<path:object_id>/delete/": (NOBODY_DJANGO, SAME),
    "webhooks/event/<path:object_id>/history/": (SUPERUSERS_DJANGO, SAME),
    "webhooks/event/add/": (NOBODY_DJANGO, SAME),
    "webhooks/webhook/": (LIST_OF_ADMINS, SAME),
    "webhooks/webhook/<int:object_id>/delete/": (PAGE_OF_ADMINS, LEADS_ADMINS_ON),
    "webhooks/webhook/<int:object_id>/edit/": (PAGE_OF_ADMINS, SAME),
    "webhooks/webhook/<int:object_id>/ping/": (LEADS_ADMINS_ON, SAME),
    "webhooks/webhook/<int:object_id>/redeliver/": (PAGE_OF_ADMINS, SAME),
    "webhooks/webhook/<int:object_id>/restore/": (LEADS_ADMINS_ON, SAME),
    "webhooks/webhook/<int:object_id>/rotate/": (PAGE_OF_ADMINS, SAME),
    "webhooks/webhook/<path:object_id>/change/": (PAGE_OF_ADMINS, SAME),
    "webhooks/webhook/<path:object_id>/delete/": (PAGE_OF_ADMINS, LEADS_ADMINS_ON),
    "webhooks/webhook/<path:object_id>/history/": (NOBODY, SAME),
    "webhooks/webhook/add/": (LIST_OF_ADMINS, SAME),
    "surveys/analysis/": (LIST_OF_CREATORS, SAME),
    "surveys/analysis/<path:object_id>/change/": ("302 404 404 404 302 302 404 302", SAME),
    "surveys/analysis/<path:object_id>/delete/": (NOBODY, SAME),
    "surveys/analysis/<path:object_id>/history/": (NOBODY, SAME),
    "surveys/analysis/add/": (NOBODY, SAME),
    "surveys/project/": (LIST_OF_MEMBERS, SAME),
    "surveys/project/<int:project_id>/delivery/": (PAGE_OF_CREATORS, "302 404 404 403 200 200 404 200"),
    "surveys/project/<int:project_id>/history/": (
        "302 404 404 403 200 200 404 200",
        NO_SUCH_METHOD_OF_SETTINGS,
    ),
    "surveys/project/<int:project_id>/history/<uuid:entry_id>/": (
        PAGE_OF_EDITORS,
        "302 404 404 405 405 405 404 405",
    ),
    "surveys/project/<int:project_id>/history/export/<str:format>/": (
        PAGE_OF_EDITORS,
        NO_SUCH_METHOD_OF_SETTINGS,
    ),
    "surveys/project/look-of-community/<int:community_id>/": (PAGE_OF_ADMINS, NO_SUCH_METHOD_FOR_ADMINS),
    "surveys/project/<int:project_id>/look/": (PAGE_OF_CREATORS, "302 404 404 403 200 200 404 200"),
    "surveys/project/<int:project_id>/delivery/preview/": (
        NO_METHOD_FOR_OWN_EDITORS,
        OWN_EDITORS,
    ),
    "surveys/project/<int:project_id>/look/preview/": (PAGE_OF_CREATORS, NO_SUCH_METHOD_OF_SETTINGS),
    "surveys/project/<int:project_id>/open/": ("302 404 404 403 200 200 404 200", SAME),
    "surveys/project/<int:project_id>/rename/": ("302 404 404 403 200 200 404 200", SAME),
    "surveys/project/<int:project_id>/responses/": (PAGE_OF_MEMBERS, NO_SUCH_METHOD_FOR_MEMBERS),
    "surveys/project/<int:project_id>/responses/import/": (EDITORS, "302 404 403 403 303 303 404 303"),
    "surveys/project/<int:project_id>/responses/import/file/": (
        NO_SUCH_METHOD_FOR_EDITORS,
        "302 404 403 403 400 400 404 400",
    ),
    "surveys/project/<int:project_id>/responses/import/progress/": (
        "302 404 403 403 204 204 404 204",
        NO_SUCH_METHOD_FOR_EDITORS,
    ),
    "surveys/project/<int:project_id>/responses/import/faults/": (
        "302 404 403 403 404 404 404 404",
        NO_SUCH_METHOD_FOR_EDITORS,
    ),
    "surveys/project/<int:project_id>/responses/<uuid:response_id>/": (
        PAGE_OF_MEMBERS,
        NO_SUCH_METHOD_FOR_MEMBERS,
    ),
    "surveys/project/<int:project_id>/responses/<uuid:response_id>/delete/": (
        "302 404 403 403 200 200 404 200",
        "302 404 403 403 303 303 404 303",
    ),
    "surveys/project/<int:project_id>/responses/<uuid:response_id>/restore/": (
        NO_SUCH_METHOD_FOR_MEMBERS,
        "302 404 403 403 303 303 404 303",
    ),
    "surveys/project/<int:project_id>/results/": (PAGE_OF_MEMBERS, NO_SUCH_METHOD_FOR_MEMBERS),
    "surveys/project/<int:project_id>/results/analyse/": (
        "302 404 403 403 302 302 404 302",
        "302 404 403 403 303 303 404 303",
    ),
    "surveys/project/<int:project_id>/results/ask/": (
        NO_SUCH_METHOD_FOR_MEMBERS,
        "302 404 400 400 400 400 404 400",
    ),
    "surveys/project/<int:project_id>/results/ask/<int:job_id>/": (
        "302 404 404 404 404 404 404 404",  # a question exists only for the person who asked it
        NO_SUCH_METHOD_FOR_MEMBERS,
    ),
    "surveys/project/<int:project_id>/results/analysis/": (
        "302 404 204 204 204 204 404 204",
        NO_SUCH_METHOD_FOR_MEMBERS,
    ),
    "surveys/project/<int:project_id>/results/answers/<int:block_id>/": (
        PAGE_OF_MEMBERS,
        NO_SUCH_METHOD_FOR_MEMBERS,
    ),
    "surveys/project/<int:project_id>/results/answers/<int:block_id>/<uuid:response_id>/": (
        EDITORS,
        "302 404 403 403 302 302 404 302",
    ),
    "surveys/project/<int:project_id>/results/counting/": (
        "302 404 204 204 204 204 404 204",
        NO_SUCH_METHOD_FOR_MEMBERS,
    ),
    "surveys/project/<int:project_id>/results/cross/": (PAGE_OF_MEMBERS, NO_SUCH_METHOD_FOR_MEMBERS),
    "surveys/project/<int:project_id>/results/dashboard/": (
        PAGE_OF_MEMBERS,
        "302 404 403 403 400 400 404 400",
    ),
    "surveys/project/<int:project_id>/results/export/": (PAGE_OF_MEMBERS, NO_SUCH_METHOD_FOR_MEMBERS),
    "surveys/project/<int:project_id>/results/exported/": (PAGE_OF_MEMBERS, NO_SUCH_METHOD_FOR_MEMBERS),
    "surveys/project/<int:project_id>/results/over-time/": (PAGE_OF_MEMBERS, NO_SUCH_METHOD_FOR_MEMBERS),
    "surveys/project/<int:project_id>/results/picture/<str:card>.<str:kind>": (
        PAGE_OF_MEMBERS,
        NO_SUCH_METHOD_FOR_MEMBERS,
    ),
    "surveys/project/<int:project_id>/results/themes/<int:block_id>/": (
        EDITORS,
        "302 404 403 403 422 422 404 422",
    ),
    "surveys/project/<int:project_id>/rewards/": (PAGE_OF_CREATORS, "302 404 404 403 302 302 404 302"),
    "surveys/project/<int:project_id>/script/": (PAGE_OF_CREATORS, NO_SUCH_METHOD_FOR_STAFF),
    "surveys/project/<int:project_id>/script/archived/": (JSON_OF_EDITORS, NO_SUCH_METHOD_OF_EDITORS),
    "surveys/project/<int:project_id>/script/blocks/<int:block_id>/answers/": (
        JSON_OF_EDITORS,
        NO_SUCH_METHOD_OF_EDITORS,
    ),
    "surveys/project/<int:project_id>/script/draft/": (NO_SUCH_METHOD_OF_EDITORS, SAME),
    "surveys/project/<int:project_id>/script/duplicate/": (
        NO_SUCH_METHOD_FOR_CREATORS,
        "401 404 404 201 201 201 404 201",
    ),
    "surveys/project/<int:project_id>/script/export/": (JSON_OF_CREATORS, NO_SUCH_METHOD_FOR_CREATORS),
    "surveys/project/<int:project_id>/script/flow/": (NO_SUCH_METHOD_FOR_CREATORS, JSON_OF_CREATORS),
    "surveys/project/<int:project_id>/script/generate/": (
        NO_SUCH_METHOD_OF_EDITORS,
        "401 404 404 403 400 400 404 400",
    ),
    "surveys/project/<int:project_id>/script/generate/<int:job_id>/": (
        "401 404 404 403 404 404 404 404",  # a job exists only for its owner
        NO_SUCH_METHOD_OF_EDITORS,
    ),
    "surveys/project/<int:project_id>/script/logic/": (
        NO_SUCH_METHOD_FOR_CREATORS,
        "401 404 404 400 400 400 404 400",
    ),
    "surveys/project/<int:project_id>/script/preview/": (PAGE_OF_CREATORS, SAME),
    "surveys/project/<int:project_id>/script/preview/restart/": (
        NO_SUCH_METHOD_FOR_CREATORS,
        JSON_OF_CREATORS,
    ),
    "surveys/project/<int:project_id>/script/preview/state/": (JSON_OF_CREATORS, NO_SUCH_METHOD_FOR_CREATORS),
    "surveys/project/<int:project_id>/script/convert/": (
        NO_SUCH_METHOD_OF_EDITORS,
        "401 404 404 403 400 400 404 400",
    ),
    "surveys/project/<int:project_id>/script/projects/": (JSON_OF_EDITORS, NO_SUCH_METHOD_OF_EDITORS),
    "surveys/project/<int:project_id>/script/versions/": (JSON_OF_EDITORS, NO_SUCH_METHOD_OF_EDITORS),
    "surveys/project/<int:project_id>/script/save/": (
        NO_SUCH_METHOD_OF_EDITORS,
        "401 404 404 403 400 400 404 400",
    ),
    "surveys/project/<int:project_id>/script/scoring/": (NO_SUCH_METHOD_OF_EDITORS, JSON_OF_EDITORS),
    "surveys/project/<int:project_id>/script/templates/": (JSON_OF_EDITORS, NO_SUCH_METHOD_OF_EDITORS),
    "surveys/project/<int:project_id>/share/": (PAGE_OF_CREATORS, "302 404 404 403 302 302 404 302"),
    "surveys/project/<int:project_id>/share/post-again/": (
        "302 404 404 403 302 302 404 302",
        "302 404 404 403 302 302 404 302",
    ),
    "surveys/project/<int:project_id>/share/new-address/": (
        "302 404 404 403 200 200 404 200",
        "302 404 404 403 302 302 404 302",
    ),
    "surveys/project/<int:project_id>/share/short-address/": (
        "302 404 404 403 302 302 404 302",
        "302 404 404 403 302 302 404 302",
    ),
    "surveys/project/<int:project_id>/share/qr.svg": (PAGE_OF_CREATORS, SAME),
    "surveys/project/<int:project_id>/share/qr.png": (PAGE_OF_CREATORS, SAME),
    "surveys/project/<int:project_id>/share/values/": (PAGE_OF_CREATORS, NO_SUCH_METHOD_OF_SETTINGS),
    "surveys/project/<int:project_id>/share/people/": (
        OWN_EDITORS,
        "302 404 404 403 404 404 404 404",
    ),
    "surveys/project/<int:project_id>/share/links/": (OWN_EDITORS, "302 404 404 403 422 422 404 422"),
    "surveys/project/<int:project_id>/share/links/send/": (
        OWN_EDITORS,
        "302 404 404 403 422 422 404 422",
    ),
    "surveys/project/<int:project_id>/share/links/file/<str:format>/": (
        OWN_EDITORS,
        NO_METHOD_FOR_OWN_EDITORS,
    ),
    "surveys/project/<int:project_id>/share/links/<uuid:link_id>/": (
        OWN_EDITORS,
        NO_METHOD_FOR_OWN_EDITORS,
    ),
    "surveys/project/<int:project_id>/share/links/<uuid:link_id>/revoke/": (
        NO_METHOD_FOR_OWN_EDITORS,
        "302 404 404 403 303 303 404 303",
    ),
    "surveys/project/<path:object_id>/change/": ("302 404 302 302 302 302 404 302", SAME),
    "surveys/project/<path:object_id>/delete/": ("302 404 302 302 302 302 404 302", SAME),
    "surveys/project/<path:object_id>/history/": (
        "302 404 404 403 200 200 404 200",
        NO_SUCH_METHOD_OF_SETTINGS,
    ),
    "surveys/project/add/": (LIST_OF_CREATORS, SAME),
    "surveys/project/clone/": (NOBODY, SAME),
    "surveys/project/close/": (NOBODY, SAME),
    "surveys/project/delete/": (NOBODY, SAME),
    "surveys/project/restore/": (NO_SUCH_METHOD_FOR_STAFF, "302 404 302 302 302 302 302 302"),
}

# Addresses of a project that need its owner: a person who may only edit it gets the status of other creators.
OWNERS_ALONE = (
    "surveys/project/<path:object_id>/history/",
    "surveys/project/<int:project_id>/history/",
    "surveys/project/<int:project_id>/responses/<uuid:response_id>/delete/",
    "surveys/project/<int:project_id>/responses/import/",
    "surveys/project/<int:project_id>/responses/<uuid:response_id>/restore/",
    "surveys/project/<int:project_id>/results/analyse/",
    "surveys/project/<int:project_id>/results/answers/<int:block_id>/<uuid:response_id>/",
    "surveys/project/<int:project_id>/results/themes/",
    "surveys/project/<int:project_id>/share/links/",
    "surveys/project/<int:project_id>/share/people/",
)

SCRIPT = "admin/surveys/project/<int:project_id>/script/"
# Requests of the script editor with a body: method, address, body, and the status for each role.
SENT: list[tuple[str, str, Any, str]] = [
    ("put", f"{SCRIPT}draft/", {"blocks": [TEXT], "revision": 1, "version": None}, JSON_OF_EDITORS),
    ("delete", f"{SCRIPT}draft/", None, "401 404 404 403 204 204 404 204"),
    ("post", f"{SCRIPT}save/", {"version": 9}, "401 404 404 403 409 409 404 409"),
    ("post", f"{SCRIPT}logic/", {"text": "which = 1"}, JSON_OF_CREATORS),
    ("post", f"{SCRIPT}generate/", {"template": "general-survey"}, "401 404 404 403 409 409 404 409"),
    ("delete", f"{SCRIPT}generate/<int:job_id>/", None, "401 404 404 403 404 404 404 404"),
]
# Ids of another community sent to one's own pages: method, address, whose id, and the body or query.
PROJECTS = "admin/surveys/project/"
FOREIGN_IDS: list[tuple[str, str, str, Any]] = [
    ("post", f"{SCRIPT}generate/", "project_id", {"project": "ID"}),
    ("post", f"{SCRIPT}flow/", "block_id", {"blocks": [{**TEXT, "id": "ID"}]}),
    *(
        (method, f"{PROJECTS}{act}/", "project_id", query)
        for act in ("clone", "close", "delete")
        for method, query in (("get", "?id=ID"), ("post", "?id=ID"))
    ),
    ("post", f"{PROJECTS}restore/", "project_id", "id=ID"),
    ("get", f"{PROJECTS}<int:project_id>/share/links/send/", "member_id", "?member=ID&who=one"),
    ("get", f"{PROJECTS}<int:project_id>/share/people/", "member_id", "?search=ID"),
    ("post", f"{PROJECTS}<int:project_id>/share/links/", "reminder_id", "cancel=ID"),
    ("post", f"{PROJECTS}<int:project_id>/share/people/", "member_id", "member=ID&level=own"),
    ("get", f"{PROJECTS}<int:project_id>/responses/", "user_id", "?q=ID"),
    ("get", f"{PROJECTS}<int:project_id>/results/", "block_id", "?segment_by=ID"),
    ("get", f"{PROJECTS}<int:project_id>/results/cross/", "block_id", "?rows=ID&columns=completed.day"),
    ("get", "admin/communities/member/", "member_id", "?q=ID"),
    ("get", "admin/communities/member/invite/", "invitation_id", "?after=ID"),
    ("post", "admin/communities/member/invite/", "invitation_id", "action=revoke&invitation=ID"),
    ("post", "admin/communities/member/invite/", "invitation_id", "action=again&invitation=ID&ticket=one"),
    ("get", "admin/communities/auditentry/", "project_id", "?q=ID"),
    ("get", "admin/webhooks/delivery/", "webhook_id", "?webhook=ID"),
]
