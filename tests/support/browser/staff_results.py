"""The tabs of a project for staff in a browser."""

from django.conf import settings as installed
from django.test import Client

from communities.models import User


def for_staff(windows, made, query="", *, tab="results", **options):
    """The staff page, opened by somebody who is signed in."""
    user, _ = User.objects.get_or_create(username="root", defaults={"is_staff": True, "is_superuser": True})
    client = Client()
    client.force_login(user)
    name = installed.SESSION_COOKIE_NAME
    page = windows.open(**options)
    page.context.add_cookies([{"name": name, "value": client.cookies[name].value, "url": windows.address}])
    page.goto(f"/admin/surveys/project/{made.pk}/{tab}/{query}")
    return page


def unfold_filters(page):
    page.locator(".selection summary").press("Enter")
