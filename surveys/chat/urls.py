from django.urls import path

from surveys.chat import views

app_name = "chat"
urlpatterns = [
    path("chat/interactions", views.interactions, name="interactions"),
    path("chat/events", views.events, name="events"),
]
