"""Staff of the installation who look at a project's results."""

import html

from django.contrib.auth.models import Permission
from django.test import Client
from django.urls import reverse

from communities.models import User
from surveys.models import Analysis
from surveys.services.results import figures
from tests.support.moments import LUNCHTIME
from tests.support.surveys import scenario


def staff_member(*permissions, **fields):
    user = User.objects.create_user("staff", password="x", **{"is_staff": True, **fields})
    user.user_permissions.set(Permission.objects.filter(codename__in=permissions))
    return signed_in(user)


def signed_in(user, **options):
    client = Client(**options)
    client.force_login(user)
    return client


def superuser(**options):
    return signed_in(User.objects.create_superuser("root", password="x"), **options)


def address(made, page="results"):
    return reverse(f"pages:staff-{page}", args=[made.pk])


def look(client, made, query="", *, status=200):
    response = client.get(address(made) + query)
    assert response.status_code == status
    return html.unescape(response.content.decode())


def respond(made, *said, times=1):
    for _ in range(times):
        scenario.say(scenario.begin(made), *said)


def analysis(made, status="completed", **fields):
    return Analysis.objects.create(
        **{
            "project": made,
            "status": status,
            "revision": made.revision,
            "changes": figures.changes(made.pk),
            "created_at": LUNCHTIME,
            "completed_at": LUNCHTIME if status == "completed" else None,
            "generated_by": "local",
            "summary": "All is well.",
            **fields,
        }
    )
