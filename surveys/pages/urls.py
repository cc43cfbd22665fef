from django.urls import path
from django.views.generic import RedirectView

from surveys.pages.respondent import views
from surveys.pages.results import public

to_the_tab = RedirectView.as_view(pattern_name="admin:surveys_project_results")

app_name = "pages"
urlpatterns = [
    path("s/<slug:slug>", views.respond, name="respond"),
    path("s/<slug:slug>/card.png", views.card, name="card"),
    path("brands/<str:colour>.svg", views.icon, name="icon"),
    path("q/<slug:code>", views.short),
    path("r/<uuid:token>", public.results, name="results"),
    path("r/<uuid:token>.json", public.results_json, name="results-json"),
    # Results for staff are a tab of the project in the admin.
    *(
        path(f"staff/projects/<int:project_id>/{page}", to_the_tab)
        for page in ("results", "analysis", "export")
    ),
]
