"""This file is empty, because django-allauth includes it once for each provider. `routes` contains all
routes.
"""

from __future__ import annotations

from django.urls import URLPattern

urlpatterns: list[URLPattern] = []
