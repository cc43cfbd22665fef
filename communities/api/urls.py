from django.urls import path

import communities.gate.fields  # noqa: F401 - registers `<id:...>`
from communities.api.audit import AuditViewSet
from communities.api.communities import CommunitiesViewSet
from communities.api.keys import KeyViewSet
from communities.api.pictures import PictureViewSet
from communities.api.settings import SettingsViewSet
from communities.api.verified_sources import VerifiedSourceViewSet

urlpatterns = [
    path("communities", CommunitiesViewSet.as_view({"get": "list"})),
    path("communities/<id:community_id>", CommunitiesViewSet.as_view({"get": "retrieve"})),
    path(
        "communities/<id:community_id>/settings",
        SettingsViewSet.as_view({"get": "retrieve", "patch": "partial_update"}),
    ),
    path("communities/<id:community_id>/pictures", PictureViewSet.as_view({"post": "create"})),
    path("communities/<id:community_id>/verified_sources", VerifiedSourceViewSet.as_view({"get": "list"})),
    path("communities/<id:community_id>/audit", AuditViewSet.as_view({"get": "list"})),
    path("communities/<id:community_id>/api_keys", KeyViewSet.as_view({"get": "list", "post": "create"})),
    path("communities/<id:community_id>/api_keys/<id:key_id>", KeyViewSet.as_view({"delete": "destroy"})),
    path("communities/<id:community_id>/api_keys/<id:key_id>/rotate", KeyViewSet.as_view({"post": "rotate"})),
]
