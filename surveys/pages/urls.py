from django.urls import path

from surveys.pages.respondent import views
from surveys.pages.results import public, staff

app_name = "pages"
urlpatterns = [
    path("s/<slug:slug>", views.respond, name="respond"),
    path("r/<uuid:token>", public.results, name="results"),
    path("r/<uuid:token>.json", public.results_json, name="results-json"),
    path("staff/projects/<int:project_id>/results", staff.results, name="staff-results"),
    path("staff/projects/<int:project_id>/analysis", staff.analyse, name="staff-analysis"),
    path("staff/projects/<int:project_id>/export", staff.export, name="staff-export"),
]
