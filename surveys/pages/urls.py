from django.urls import path

from surveys.pages import views

app_name = "pages"
urlpatterns = [path("s/<slug:slug>", views.talk, name="talk")]
