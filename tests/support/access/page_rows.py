"""The responses that each role gets from every address outside the admin and /v1, written by hand.

A row says the status of GET, and of POST with an empty body, for objects of the first community. The columns
are those of `scene.ROLES`. In the account area superusers are like everybody else: they see what is theirs.
"""

from __future__ import annotations

from typing import Any

SAME = "same"  # POST gives the same statuses as GET

ANYBODY = "200 200 200 200 200 200 200 200"
NO_SUCH_METHOD = "405 405 405 405 405 405 405 405"
NOTHING = "404 404 404 404 404 404 404 404"
LEADS_ON = "302 302 302 302 302 302 302 302"
PERSON = "302 200 200 200 200 200 200 200"
INCOMPLETE = "302 422 422 422 422 422 422 422"
NO_SUCH_METHOD_FOR_PEOPLE = "302 405 405 405 405 405 405 405"
NOTHING_FOR_PEOPLE = "302 404 404 404 404 404 404 404"
VISITOR = "200 302 302 302 302 302 302 302"
IN_COMMUNITY = "302 404 200 200 200 200 404 404"
PAGE_OF_ADMINS = "302 404 403 403 403 200 404 404"
LEADS_ADMINS_ON = "302 404 403 403 403 302 404 404"
INCOMPLETE_FOR_ADMINS = "302 404 403 403 403 422 404 404"
PROVEN_ALREADY = "302 403 403 403 403 403 403 403"

NO_KEY = " ".join(["401"] * 8)

TABLE: dict[str, tuple[str, str]] = {
    "": (LEADS_ON, SAME),
    "healthz": (ANYBODY, NO_SUCH_METHOD),
    "readyz": (ANYBODY, NO_SUCH_METHOD),
    "mcp": (NO_SUCH_METHOD, NO_KEY),
    "metrics": (NOTHING, SAME),
    "robots.txt": (ANYBODY, NO_SUCH_METHOD),
    "docs": (ANYBODY, NO_SUCH_METHOD),
    "docs/search.json": (ANYBODY, NO_SUCH_METHOD),
    "docs/reference": (ANYBODY, NO_SUCH_METHOD),
    "docs/reference/<slug:group>": (ANYBODY, NO_SUCH_METHOD),
    "docs/drawn/<slug:block>": (ANYBODY, NO_SUCH_METHOD),
    "docs/<slug:document>": (ANYBODY, NO_SUCH_METHOD),
    "v1/openapi.json": (ANYBODY, NO_SUCH_METHOD),
    "badges/<id:number>.svg": (ANYBODY, NO_SUCH_METHOD),
    "pictures/<slug:name>": (ANYBODY, NO_SUCH_METHOD),
    "brands/<str:name>.css": (NOTHING, NO_SUCH_METHOD),
    "s/<slug:slug>": (ANYBODY, SAME),
    "s/<slug:slug>/card.png": (ANYBODY, NO_SUCH_METHOD),
    "brands/<str:colour>.svg": (ANYBODY, NO_SUCH_METHOD),
    "q/<slug:code>": (LEADS_ON, NO_SUCH_METHOD),
    "r/<uuid:token>": (ANYBODY, NO_SUCH_METHOD),
    "r/<uuid:token>.json": (ANYBODY, NO_SUCH_METHOD),
    "staff/projects/<int:project_id>/results": (LEADS_ON, SAME),
    "staff/projects/<int:project_id>/analysis": (LEADS_ON, SAME),
    "staff/projects/<int:project_id>/export": (LEADS_ON, SAME),
    "chat/interactions": (NO_SUCH_METHOD, NOTHING),
    "chat/events": (NO_SUCH_METHOD, NOTHING),
    "account": (LEADS_ON, SAME),
    "account/": (PERSON, NO_SUCH_METHOD),
    "account/sources/merge/": (LEADS_ON, SAME),
    "account/invitations/<str:token>/merge/": (LEADS_ON, SAME),
    "account/responses/": (PERSON, NO_SUCH_METHOD),
    "account/responses/<uuid:response_id>/": (NOTHING_FOR_PEOPLE, NO_SUCH_METHOD),
    "account/data/": (PERSON, NO_SUCH_METHOD),
    "account/data/export/": (NO_SUCH_METHOD, PERSON),
    "account/data/erase/": (PERSON, INCOMPLETE),
    "account/data/leave/<int:community_id>/": (
        "302 404 200 200 200 200 404 404",
        "302 404 422 422 422 422 404 404",
    ),
    "account/webhooks/": (IN_COMMUNITY, NO_SUCH_METHOD),
    "account/webhooks/new/": (PAGE_OF_ADMINS, INCOMPLETE_FOR_ADMINS),
    "account/webhooks/<int:webhook_id>/": (PAGE_OF_ADMINS, NO_SUCH_METHOD),
    "account/webhooks/<int:webhook_id>/edit/": (PAGE_OF_ADMINS, INCOMPLETE_FOR_ADMINS),
    "account/webhooks/<int:webhook_id>/switch/": (NO_SUCH_METHOD, LEADS_ADMINS_ON),
    "account/webhooks/<int:webhook_id>/rotate/": (PAGE_OF_ADMINS, INCOMPLETE_FOR_ADMINS),
    "account/webhooks/<int:webhook_id>/ping/": (NO_SUCH_METHOD, LEADS_ADMINS_ON),
    "account/webhooks/<int:webhook_id>/delete/": (PAGE_OF_ADMINS, LEADS_ADMINS_ON),
    "account/webhooks/<int:webhook_id>/restore/": (NO_SUCH_METHOD, LEADS_ADMINS_ON),
    "account/webhooks/<int:webhook_id>/deliveries/": (PAGE_OF_ADMINS, NO_SUCH_METHOD),
    "account/webhooks/deliveries/<uuid:delivery_id>/": (PAGE_OF_ADMINS, NO_SUCH_METHOD),
    "account/webhooks/deliveries/<uuid:delivery_id>/again/": (NO_SUCH_METHOD, LEADS_ADMINS_ON),
    "account/sources/again/": (PERSON, NO_SUCH_METHOD_FOR_PEOPLE),
    "account/sources/<slug:provider_id>/login/": (NOTHING, SAME),
    "account/sources/<slug:provider_id>/callback/": (NOTHING, NO_SUCH_METHOD),
    "account/invitations/<str:token>/": (ANYBODY, VISITOR),
    "account/join/<int:community_id>/": (NOTHING_FOR_PEOPLE, SAME),
    "account/keys/": (IN_COMMUNITY, NO_SUCH_METHOD),
    "account/keys/new/": (PAGE_OF_ADMINS, INCOMPLETE_FOR_ADMINS),
    "account/keys/<int:key_id>/rotate/": (PAGE_OF_ADMINS, "302 404 403 403 403 409 404 404"),
    "account/keys/<int:key_id>/revoke/": (PAGE_OF_ADMINS, LEADS_ADMINS_ON),
    "account/chat/": (IN_COMMUNITY, NO_SUCH_METHOD),
    "account/chat/check/": (NO_SUCH_METHOD, NOTHING_FOR_PEOPLE),
    "account/chat/again/<int:task_id>/": (NO_SUCH_METHOD, NOTHING_FOR_PEOPLE),
    "account/setup/<int:community_id>/": (LEADS_ADMINS_ON, NO_SUCH_METHOD),
    "account/setup/<int:community_id>/done/": (LEADS_ADMINS_ON, NO_SUCH_METHOD),
    "account/setup/<int:community_id>/<slug:slug>/": (PAGE_OF_ADMINS, INCOMPLETE_FOR_ADMINS),
    "account/signup/": (VISITOR, SAME),
    "account/email/": (PERSON, LEADS_ON),
    "account/password/set/": (PERSON, SAME),
    "account/sessions/": (PERSON, LEADS_ON),
    "account/2fa/browsers/forget/": (NO_SUCH_METHOD, LEADS_ON),
    "account/login/code/confirm/": (NOTHING, SAME),
    "account/3rdparty/signup/": (NOTHING, SAME),
    "account/^social/": (NOTHING, SAME),
    "account/login/": (VISITOR, SAME),
    "account/logout/": (PERSON, LEADS_ON),
    "account/inactive/": (ANYBODY, NO_SUCH_METHOD),
    "account/reauthenticate/": (PROVEN_ALREADY, SAME),
    "account/confirm-email/": (ANYBODY, NO_SUCH_METHOD),
    "account/password/change/": (LEADS_ON, SAME),
    "account/password/reset/": (ANYBODY, SAME),
    r"account/^confirm-email/(?P<key>[-:\w]+)/$": (ANYBODY, NOTHING),
    "account/password/reset/key/done/": (ANYBODY, NO_SUCH_METHOD),
    "account/^password/reset/key/(?P<uidb36>[0-9A-Za-z]+)-(?P<key>.+)/$": (ANYBODY, SAME),
    "account/password/reset/done/": (ANYBODY, NO_SUCH_METHOD),
    "account/2fa/": (PERSON, NO_SUCH_METHOD_FOR_PEOPLE),
    "account/2fa/authenticate/": (LEADS_ON, SAME),
    "account/2fa/reauthenticate/": (PROVEN_ALREADY, SAME),
    "account/2fa/trust/": (LEADS_ON, SAME),
    "account/2fa/totp/activate/": (PERSON, SAME),
    "account/2fa/totp/deactivate/": (NOTHING_FOR_PEOPLE, SAME),
    "account/2fa/recovery-codes/": (NOTHING_FOR_PEOPLE, NO_SUCH_METHOD_FOR_PEOPLE),
    "account/2fa/recovery-codes/generate/": (PERSON, SAME),
    "account/2fa/recovery-codes/download/": (NOTHING, SAME),
    "account/2fa/webauthn/": (PERSON, NO_SUCH_METHOD_FOR_PEOPLE),
    "account/2fa/webauthn/add/": (PERSON, SAME),
    "account/2fa/webauthn/reauthenticate/": (PROVEN_ALREADY, SAME),
    "account/2fa/webauthn/keys/<int:pk>/remove/": (NOTHING_FOR_PEOPLE, SAME),
    "account/2fa/webauthn/keys/<int:pk>/edit/": (NOTHING_FOR_PEOPLE, SAME),
    "account/2fa/webauthn/login/": (LEADS_ON, SAME),
    "account/3rdparty/login/cancelled/": (ANYBODY, NO_SUCH_METHOD),
    "account/3rdparty/login/error/": ("401 401 401 401 401 401 401 401", NO_SUCH_METHOD),
    "account/3rdparty/": (PERSON, SAME),
    "account/social/login/cancelled/": (NOTHING, SAME),
    "account/social/login/error/": (NOTHING, SAME),
    "account/social/signup/": (NOTHING, SAME),
    "account/social/connections/": (NOTHING, SAME),
    "mail/<str:signed>/unsubscribe": (ANYBODY, SAME),
    "admin": (LEADS_ON, SAME),
}

# Everybody who knows these addresses may read the pages, in whatever community.
FOR_HOLDERS = {
    "pictures/<slug:name>",
    "s/<slug:slug>",
    "s/<slug:slug>/card.png",
    "q/<slug:code>",
    "r/<uuid:token>",
    "r/<uuid:token>.json",
    "account/invitations/<str:token>/",
    "account/invitations/<str:token>/merge/",
    "mail/<str:signed>/unsubscribe",
}

# Ids of another community sent to one's own pages: method, address, whose id, and the body or query.
FOREIGN_IDS: list[tuple[str, str, str, Any]] = [
    ("post", "account/chat/check/", "community_id", "community=ID"),
    ("post", "account/sessions/", "session_id", "session=ID"),
    ("get", "account/signup/", "community_id", "?community=ID"),
    ("get", "account/responses/", "response_id", "?before=ID"),
    ("get", "account/webhooks/<int:webhook_id>/deliveries/", "delivery_id", "?before=ID"),
]
