from django.urls import path

import communities.http.paths  # noqa: F401 - registers `<id:...>`
from xp import pages

app_name = "xp-pages"
urlpatterns = [path("badges/<id:number>.svg", pages.badge, name="badge")]
