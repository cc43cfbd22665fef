"""Staff in the community of `scenario`, and the tabs of a project in the admin."""

import html
import re
from collections.abc import Iterable
from typing import Any

import orjson
from django.urls import reverse

from surveys.admin.rows import RowsField
from surveys.models import Analysis, Project
from surveys.services.results import figures
from tests.support.moments import LUNCHTIME
from tests.support.staff import Staff, signed_in
from tests.support.surveys import scenario
from tests.support.surveys.scenario import CHOICE

LIST = "/admin/surveys/project/"
ROLES = ["superuser", "admin", "author", "creator", "member", "foreigner"]
EDITORS = ["superuser", "admin", "author"]
EDITOR_STATE = re.compile(r'<script id="editor-state" type="application/json">(.*?)</script>', re.DOTALL)


def project_staff(access="admin", **fields) -> Staff:
    """Staff with this access in the community of `scenario`."""
    return Staff(access, community=scenario.community(), **fields)


def client_as(role, made=None):
    """A browser in which staff with a role are signed in; `author` made the project.

    A `foreigner` is an admin of another community.
    """
    access = {"author": "creator", "foreigner": "admin"}.get(role, role)
    community = scenario.community(2 if role == "foreigner" else 1)
    staff = Staff(access, community=community, name=role.capitalize())
    if role == "author":
        made.author = staff.user
        made.save(update_fields=["author"])
    return staff.client


def superuser(**options):
    """A browser in which a superuser is signed in."""
    return signed_in(project_staff("superuser").user, **options)


def draft(**fields: Any) -> Project:
    """A project with a question that was never opened and has no delivery."""
    made = scenario.project(CHOICE, status="inactive", opened_at=None, participation="private", **fields)
    Project.objects.filter(pk=made.pk).update(delivery=None, question_count=1)
    return Project.objects.get(pk=made.pk)


def tab(project_id, name="results", *args):
    """The address of a tab of a project, or of a page below the tab."""
    return reverse(f"admin:surveys_project_{name}", args=[project_id, *args])


def look(client, made, query="", *, page="results", status=200):
    """The source of a project's tab, without entities."""
    response = client.get(tab(made.pk, page) + query)
    assert response.status_code == status
    return html.unescape(response.content.decode())


def editor_state(client, project_id):
    """The state that the page of a project's script editor embeds."""
    page = client.get(tab(project_id, "script"))
    assert page.status_code == 200, page.content
    found = EDITOR_STATE.search(page.content.decode())
    assert found is not None, page.content
    return orjson.loads(html.unescape(found[1]))


def form_of(page):
    """The values that a browser would send for a page's unchanged form, `response.context["form"]`."""
    sent = {}
    for field in page.context["form"]:
        value = field.value()
        if hasattr(value, "isoformat"):
            value = field.field.widget.format_value(field.field.prepare_value(value))
        if field.field.show_hidden_initial:
            hidden = field.as_hidden(only_initial=True)
            shown = [html.unescape(value) for value in re.findall(r'value="([^"]*)"', hidden)]
            is_many = isinstance(value, list) and not isinstance(field.field, RowsField)
            sent[field.html_initial_name] = shown if is_many else "".join(shown[:1])
        if isinstance(field.field, RowsField):
            cells = ((n, key, each[key]) for n, each in enumerate(value or []) for key in each if each[key])
            sent |= {f"{field.html_name}-{n}-{key}": "on" if cell is True else cell for n, key, cell in cells}
        elif value is True:
            sent[field.html_name] = "on"
        elif value not in (None, False):
            sent[field.html_name] = value
    return sent


def respond(made, *said, times=1):
    """Responses with these answers."""
    for _ in range(times):
        scenario.say(scenario.begin(made), *said)


def analysis(made, status="completed", **fields):
    """An analysis of a project as it is now."""
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


def send(staff: Staff, project: Project, page: str, /, **changes: Any) -> Any:
    """Send the form of a tab as a browser does, with these changes; None empties a field."""
    (answer,) = send_by_turns(staff, project, [(page, changes)])
    return answer


def send_by_turns(staff: Staff, project: Project, sent: Iterable[tuple[str, dict[str, Any]]]) -> list[Any]:
    """Send forms of tabs again and again, each time with changes to their first values."""
    forms: dict[str, dict[str, Any]] = {}
    answers = []
    for page, changes in sent:
        address = tab(project.pk, page)
        if page not in forms:
            forms[page] = form_of(staff.client.get(address))
        values = {key: value for key, value in (forms[page] | changes).items() if value is not None}
        answers.append(staff.client.post(address, values))
    return answers
