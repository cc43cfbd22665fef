"""The tab Share: the address of the page, how to embed it, the shared results, and copies by others."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from io import BytesIO
from typing import Any, ClassVar

import segno
from django import forms
from django.conf import settings
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect

from communities.ground.errors import Conflict
from communities.services.chat import overview
from surveys.admin import address_values, project_forms
from surveys.admin.frame import ProjectPage, project_tab
from surveys.admin.look import THEME_NAMES
from surveys.admin.opening import audience_in_words
from surveys.admin.project_forms import ProjectForm, Section
from surveys.models import Project
from surveys.services import public_messages
from surveys.services.projects import sharing
from surveys.services.representations.project import results_url, short_url, web_url

EMBED_EVENTS = """\
<script>
  document.addEventListener("colloquy:completed", () => alert("Thank you!"));
</script>"""


class ShareForm(ProjectForm):
    """The form for who sees the results, and who may copy the project."""

    paths: ClassVar[Mapping[str, str]] = {
        "share_results": "settings.share_results",
        "reveal_results": "settings.reveal_results",
        "is_cloneable": "is_cloneable",
    }
    sections: ClassVar[Sequence[Section]] = (
        Section(
            "Results",
            "Totals only: never who answered, and never anybody’s words.",
            "share",
            ("share_results",),
            more="admin/surveys/project/results_address.html",
        ),
        Section("When it closes", "", "reveal", ("reveal_results",)),
        Section("Copies by others", "", "clone", ("is_cloneable",)),
    )

    share_results = forms.BooleanField(
        label="Share the results",
        required=False,
        help_text="Members of the community, and everybody with the address below, see the totals. "
        "You can stop this at any time; the page is gone at once.",
    )
    reveal_results = forms.BooleanField(
        label="Post a summary when it closes",
        required=False,
        help_text="To the channel of the invitation, in the chat.",
    )
    is_cloneable = forms.BooleanField(
        label="Other communities may copy it",
        required=False,
        help_text="Only if it is, or has been, open to anyone with the link. They get the script, the "
        "settings and the look; never responses. While it is open, they do not get its correct answers, "
        "points, feedback and formulas if it is a quiz.",
    )

    def values_of(self, project: Project) -> dict[str, Any]:
        return {**super().values_of(project), "is_cloneable": project.is_cloneable}


@project_tab("share")
def share(request: HttpRequest, page: ProjectPage) -> HttpResponse:
    """The tab: draw it, or save the changes."""
    project = page.project
    return project_forms.show(
        request,
        page,
        ShareForm,
        "admin/surveys/project/share.html",
        context=lambda form: {
            "web_url": web_url(project),
            "short_url": short_url(project),
            "short_address": page.address("share_short_address"),
            "qr_svg": page.address("share_qr_svg"),
            "qr_png": page.address("share_qr_png"),
            "embed": _embed(project),
            "embed_events": EMBED_EVENTS,
            "themes": THEME_NAMES,
            "web_origin": settings.BASE_URL,
            "results_url": results_url(project) if project.share_results else "",
            "new_address": page.address("share_new_address"),
            "is_public": project.is_public,
            "is_in_chat": project.response_channel == Project.ResponseChannel.CHAT,
            "post": posted_to(project),
            "post_address": public_messages.address_of(project),
            "is_post_deleted": public_messages.was_deleted(project),
            "post_again": page.address("share_post_again"),
            "asked": audience_in_words(project),
            "is_live": project.is_live_at(page.at),
            "links_address": page.address("share_links"),
            "people_address": page.address("share_people"),
            "values_example": address_values.example_address(project),
            "values_address": page.address("share_values"),
            "delivery_address": page.address("delivery"),
        },
    )


@project_tab("share")
def post_again(request: HttpRequest, page: ProjectPage) -> HttpResponse:
    """Post a project again after its post was deleted in the chat."""
    return _carried_out(request, page, sharing.post_again, "It is posted again in a moment.")


@project_tab("share")
def short_address(request: HttpRequest, page: ProjectPage) -> HttpResponse:
    """Make a short address of the page."""
    return _carried_out(request, page, sharing.shorten_address, "The page has a short address.")


def _carried_out(
    request: HttpRequest, page: ProjectPage, act: Callable[..., object], done: str
) -> HttpResponse:
    """Carry out what a button of the tab asks for, and lead back to the tab with a message."""
    if not page.may_edit:
        raise PermissionDenied
    if request.method == "POST":
        try:
            act(actor=page.actor, project_id=page.project.pk, at=page.at)
            messages.success(request, done)
        except Conflict as refusal:
            messages.error(request, refusal.message)
    return HttpResponseRedirect(page.address("share"))


@project_tab("share")
def qr_svg(request: HttpRequest, page: ProjectPage) -> HttpResponse:
    """The page's address as a QR code that can be drawn in any size."""
    return _qr_code(page.project, "image/svg+xml", kind="svg", scale=8, light="#fff")


@project_tab("share")
def qr_png(request: HttpRequest, page: ProjectPage) -> HttpResponse:
    """The page's address as a QR code of about 900 pixels."""
    return _qr_code(page.project, "image/png", kind="png", scale=24)


def _qr_code(project: Project, content_type: str, **options: Any) -> HttpResponse:
    image = BytesIO()
    segno.make_qr(web_url(project), error="m").save(image, border=4, **options)
    return HttpResponse(image.getvalue(), content_type=content_type)


def posted_to(project: Project) -> str:
    """The name of the channel of a project's invitation; empty if it names none."""
    channel_id = public_messages.channel_of(project)
    guild = overview.snapshot(community_id=project.community_id)
    channel = guild.channels.get(channel_id) if guild else None
    return f"#{channel.name}" if channel else channel_id


def _embed(project: Project) -> str:
    """The HTML that embeds the page in a page of another site."""
    script = f"{settings.BASE_URL}{settings.STATIC_URL}surveys/embed.js"
    return f'<script src="{script}" data-survey="{project.slug}" async></script>'


@project_tab("share")
def new_address(request: HttpRequest, page: ProjectPage) -> HttpResponse:
    """Ask for confirmation, then give the shared results a new address."""
    if not page.may_edit:
        raise PermissionDenied
    if request.method == "POST":
        sharing.renew_results_address(actor=page.actor, project_id=page.project.pk, at=page.at)
        messages.success(request, "The results have a new address. The old one does not work any more.")
        return HttpResponseRedirect(page.address("share"))
    return page.render(
        request,
        "admin/surveys/project/new_address.html",
        {"results_url": results_url(page.project), "back": page.address("share")},
    )
