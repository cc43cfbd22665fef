"""Empty: django-allauth includes this once for each provider. `routes` contains the routes of all."""

from __future__ import annotations

from django.urls import URLPattern

urlpatterns: list[URLPattern] = []
