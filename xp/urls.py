"""Public addresses outside `/v1`: the badges of achievements."""

from django.urls import path

import communities.gate.fields  # noqa: F401 - registers `<id:...>`
from xp import views

app_name = "xp-pages"
urlpatterns = [path("badges/<id:number>.svg", views.badge, name="badge")]
