from django.urls import path

from xp import pages

app_name = "xp-pages"
urlpatterns = [path("badges/<int:number>.svg", pages.badge, name="badge")]
