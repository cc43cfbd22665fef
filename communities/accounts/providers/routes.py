"""The routes below /account/sources/."""

from django.urls import path

from communities.accounts.providers import views

urlpatterns = [
    path("again/", views.sign_in_again, name="source_sign_in_again"),
    path("<slug:provider_id>/login/", views.login, name="source_login"),
    path("<slug:provider_id>/callback/", views.callback, name="source_callback"),
]
