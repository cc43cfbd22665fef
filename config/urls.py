from django.contrib import admin
from django.urls import URLPattern, URLResolver, include, path, re_path
from django.views.generic import RedirectView

from communities import views as community_views
from communities.accounts import unsubscribing
from communities.gate.views import UnknownPath
from config import docs, health, mcp, metrics, openapi, robots

admin.autodiscover()
# Django tries the patterns in their order, so those of respondents come first.
urlpatterns: list[URLPattern | URLResolver] = [
    path("v1/", include("surveys.api.urls")),
    path("", include("surveys.pages.urls")),
    path("", RedirectView.as_view(url="/account/")),
    path("healthz", health.healthz),
    path("readyz", health.readyz),
    path("metrics", metrics.page),
    path("robots.txt", robots.page),
    path("docs", docs.page, name="docs"),
    path("docs/search.json", docs.search_index, name="docs-search"),
    path("docs/reference", docs.reference_overview, name="docs-reference"),
    path("docs/reference/<slug:group>", docs.reference_group, name="docs-reference-group"),
    path("docs/drawn/<slug:block>", docs.drawn, name="docs-drawn"),
    path("docs/<slug:document>", docs.page, name="docs-page"),
    path("v1/openapi.json", openapi.schema, name="openapi"),
    path("mcp", mcp.endpoint, name="mcp"),
    path("v1/", include("communities.api.urls")),
    path("v1/", include("xp.api.urls")),
    path("v1/", include("webhooks.api.urls")),
    re_path(r"^v1(?:/.*)?$", UnknownPath.of_any_method()),
    path("", include("xp.urls")),
    path("", include("surveys.chat.urls")),
    path("account", RedirectView.as_view(url="/account/")),
    path("account/", include("surveys.pages.own.urls")),
    path("account/webhooks/", include("webhooks.pages.urls")),
    path("account/", include("communities.accounts.urls")),
    path("pictures/<slug:name>", community_views.picture, name="picture"),
    path("brands/<str:name>.css", community_views.brand, name="brand"),
    path("mail/<str:signed>/unsubscribe", unsubscribing.unsubscribe, name="mail-unsubscribe"),
    path("admin", RedirectView.as_view(url="/admin/")),
    path("admin/", admin.site.urls),
]

handler400 = "surveys.pages.errors.bad_request"
handler403 = "surveys.pages.errors.forbidden"
handler404 = "surveys.pages.errors.not_found"
handler500 = "surveys.pages.errors.fault"
