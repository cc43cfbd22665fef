"""The tab Delivery: when a project opens and closes, who may answer, where, how often, and the invitation."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, cast

from django import forms
from django.conf import settings
from django.core.exceptions import PermissionDenied
from django.forms.boundfield import BoundField
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.shortcuts import render
from django.urls import reverse
from django.utils.html import format_html

from communities.ground import privacy_words
from communities.ground.form_fields import TextField
from communities.services.tenants import verified_sources
from communities.staff.chat_choices import role_choices
from surveys.admin import address_fields, post_preview, project_forms
from surveys.admin.cards import PRIVACY, Card, CardField
from surveys.admin.frame import ProjectPage, project_tab
from surveys.admin.opening import SCHEDULE_PATHS, ScheduleForm, times_that_are_over
from surveys.admin.project_forms import IdsField, ProjectForm, Section, premium
from surveys.admin.respondents import noun_of
from surveys.admin.responses import proofs_of
from surveys.admin.rows import Column, RowsField, RowsWidget
from surveys.api.project_settings_in import MAX_BEGUN, MAX_CONSENT, MAX_ENDS, MAX_LABEL, MAX_QUOTAS
from surveys.models import Project
from surveys.models.project import MAX_DAYS_KEPT
from surveys.services.conversations import ends, places
from surveys.services.ground import script_settings
from surveys.services.ground.field_groups import PREMIUM_INVITATION
from surveys.services.scripts import cache as script_cache

_INVITATION = "delivery.invitation"
_ROWS = ("quotas", "ends")
_COLOURS = ("border_color", "border_color_closed")
PICTURE = {"data-picture": "", "inputmode": "url"}  # shown below its address
BUTTONS = {
    "": Card("Default"),
    "1": Card("Blurple"),
    "2": Card("Grey"),
    "3": Card("Green"),
    "4": Card("Red"),
}
# The help texts of the fields of roles if the names of the server's roles are known.
_ROLES = {
    "required_role_ids": "People need one of these roles of your server. None chosen: none is needed.",
    "ping_role_ids": "The first post notifies everybody with one of these roles. None chosen: nobody is "
    "notified. A post that takes its place notifies nobody.",
}
DISPLAYS = {
    "": Card("As usual"),
    "embed": Card("In the post", "The post shows facts about the project."),
    "button": Card("Behind a button", "A button shows them to the person who presses it."),
}


class DeliveryForm(ScheduleForm):
    """All fields of the delivery group, and the fields for privacy and limits, which also decide who may
    answer what.
    """

    paths: ClassVar[Mapping[str, str]] = {
        **SCHEDULE_PATHS,
        "required_role_ids": "delivery.audience.required_role_ids",
        "verified_source_ids": "delivery.audience.verified_source_ids",
        "privacy_mode": "settings.privacy_mode",
        "max_completes_per_user": "settings.max_completes_per_user",
        "change_poll": "settings.change_poll",
        "lock_graded_answers": "settings.lock_graded_answers",
        "max_completes": "settings.max_completes",
        "quotas": "settings.quotas",
        "max_begun_per_minute": "settings.max_begun_per_minute",
        "consent": "settings.consent",
        "keep_responses_days": "settings.keep_responses_days",
        "advance_on_choice": "settings.advance_on_choice",
        "review": "settings.review",
        "indexed": "settings.indexed",
        "mail_copy": "settings.mail_copy",
        "end_url": "settings.end.url",
        "end_label": "settings.end.label",
        "end_redirect": "settings.end.redirect",
        "ends": "settings.ends",
        "address_fields": "settings.hidden_fields",
        "ping_role_ids": f"{_INVITATION}.ping_role_ids",
        "message": f"{_INVITATION}.message",
        "image_url": f"{_INVITATION}.image_url",
        "thumbnail_url": f"{_INVITATION}.thumbnail_url",
        "border_color": f"{_INVITATION}.border_color",
        "info_display": f"{_INVITATION}.embed_config.info_display",
        **{name: f"{_INVITATION}.{name}" for name in PREMIUM_INVITATION},
    }
    sections: ClassVar[Sequence[Section]] = (
        Section(
            "Opening and closing",
            "",  # see `_when_times_apply`
            "at-a-time",
            ("opening_mode", "opening_time", "closing_mode", "closing_time"),
            more="admin/surveys/project/zone.html",
        ),
        Section(
            "Audience",
            "Who may answer, and where.",
            "private",
            (
                *("participation", "response_channel", "post_channel_id"),
                *("required_role_ids", "verified_source_ids"),
            ),
        ),
        Section(
            "Privacy",
            "What staff and members can find out about the people who answer.",
            "semi-private",
            ("privacy_mode",),
            more="admin/surveys/project/privacy.html",
        ),
        Section("Results of the poll", "", "public", ("poll_results_mode",)),
        Section(
            "Consent and keeping",
            "What people agree to before their first answer is stored, and how long answers are kept.",
            "hidden",
            ("consent", "keep_responses_days"),
            is_rare=True,
        ),
        Section("How often", "", "limit", ("max_completes_per_user", "change_poll", "lock_graded_answers")),
        Section(
            "How many",
            "If a limit is reached, the page says so. A response that is refused at its end is kept as "
            "partial, and marked. Deleting a completed response frees its place.",
            "limit",
            ("max_completes", "quotas"),
            is_rare=True,
        ),
        Section(
            "Robots and crowds",
            "Nobody is refused. A browser that may be a program’s does a second of computing first; without "
            "JavaScript, a small question is asked.",
            "web",
            ("max_begun_per_minute",),
            more="admin/surveys/project/proofs.html",
            is_rare=True,
        ),
        Section("On the page", "", "web", ("advance_on_choice", "review", "indexed")),
        Section(
            "At the end",
            "Where people go once they have answered.",
            "link",
            ("end_url", "end_label", "end_redirect", "ends", "mail_copy"),
        ),
        Section(
            "Values from the address",
            "What the link to the survey may say about where somebody comes from, such as ?campaign=mail.",
            "link",
            ("address_fields",),
            is_rare=True,
        ),
        Section(
            "Invitation",
            "The post in the chat that asks people to answer. Without a chat it is not used.",
            "invitation",
            (
                *("ping_role_ids", "message", "image_url", "thumbnail_url", "border_color", "info_display"),
                *PREMIUM_INVITATION,
            ),
            more="admin/surveys/project/invitation.html",
            is_rare=True,
        ),
    )

    required_role_ids = IdsField(
        label="Roles",
        help_text="The ids of roles on Discord, one a line: people need one of them. Turn on Developer Mode "
        "in Discord’s settings, then right-click a role of your server: Copy Role ID. Empty: none is needed.",
    )
    ping_role_ids = IdsField(
        label="Roles to notify",
        help_text="The ids of roles on Discord, one a line: the first post notifies everybody who has one. "
        "Empty: nobody is notified.",
    )
    verified_source_ids = forms.MultipleChoiceField(
        label="Verified sources", required=False, widget=forms.CheckboxSelectMultiple
    )
    privacy_mode = CardField(label=privacy_words.QUESTION, cards=PRIVACY)
    max_completes_per_user = forms.IntegerField(
        label="Completions for each person",
        min_value=1,
        required=False,
        help_text="How often one person may complete it. Empty: as often as they like.",
    )
    change_poll = forms.BooleanField(
        label="People may change their vote",
        required=False,
        help_text="They may also take it back, as long as the poll is open.",
    )
    lock_graded_answers = forms.BooleanField(
        label="Graded answers stay",
        required=False,
        help_text="Once people have read the “Words after the answer” of a question, they cannot go back and "
        "change it. An answer without such words can be changed.",
    )
    consent = TextField(
        label="Consent",
        required=False,
        max_length=MAX_CONSENT,
        help_text="A text that people agree to by ticking a box, in chat by a button. It is kept with each "
        "response, with the moment. A changed text is for later conversations. Empty: nothing is asked.",
        widget=forms.Textarea(attrs={"rows": 3}),
    )
    keep_responses_days = forms.IntegerField(
        label="Days to keep responses",
        min_value=1,
        max_value=MAX_DAYS_KEPT,
        required=False,
        help_text="Responses are deleted for good this many days after they were sent, partial ones after "
        "their last answer. People are told. Empty: they are kept.",
    )
    max_completes = forms.IntegerField(
        label="Completions in all",
        min_value=1,
        required=False,
        help_text="The most completed responses that the project takes. Empty: any number.",
    )
    quotas = RowsField(
        label="Quotas",
        most=MAX_QUOTAS,
        columns=(
            Column("where", "Responses with", "where", placeholder='colour = "red"'),
            Column("limit", "At most", "number"),
            Column("message", "Message when it is full"),
        ),
        help_text="Limits for some of the responses, by conditions as in the script. Empty rows are left "
        "out. On anonymous projects conditions can only name address fields.",
    )
    max_begun_per_minute = forms.IntegerField(
        label="Responses begun in a minute",
        min_value=1,
        max_value=MAX_BEGUN,
        required=False,
        help_text="If more begin on the open page, each browser is asked for the computing first.",
    )
    advance_on_choice = forms.BooleanField(
        label="A click on one choice moves on",
        required=False,
        help_text="After a short moment in which the choice can be changed. Not by keyboard, not where an "
        "explanation follows, and not at the last question.",
    )
    review = forms.BooleanField(
        label="All answers are shown before the end",
        required=False,
        help_text="There people can change each answer before they send all of them.",
    )
    indexed = forms.BooleanField(
        label="Search engines may list it",
        required=False,
        help_text="Only while anyone with the link may answer. Strangers find a survey that is listed.",
    )
    mail_copy = forms.BooleanField(
        label="People can have their answers mailed",
        required=False,
        help_text="Answers go to the confirmed address of an account. Any other address gets a link to them, "
        "and counts among the mails that a community can send in a day.",
    )
    end_url = forms.CharField(
        label="Address",
        required=False,
        help_text="An https address for a button at the end. It may hold [response_id] and names of "
        "questions in brackets, unless the project is anonymous. Empty: there is no button.",
        widget=forms.TextInput(attrs={"inputmode": "url"}),
    )
    end_label = TextField(
        label="Words on the button at the end",
        required=False,
        max_length=MAX_LABEL,
        help_text="Empty: “Continue”.",
    )
    end_redirect = forms.BooleanField(
        label="Go there at once",
        required=False,
        help_text="Pages lead to the address without the button. In chat and inside other sites the button "
        "is shown.",
    )
    ends = RowsField(
        label="Other ends",
        most=MAX_ENDS,
        columns=(
            Column("where", "Responses with", "where", placeholder="score >= 10"),
            Column("message", "Thanks"),
            Column("url", "Address", "url", placeholder="https://"),
            Column("label", "Words on the button"),
            Column("redirect", "Go there at once", "checkbox"),
            Column("screen_out", "Screens out", "checkbox"),
        ),
        help_text="The first row whose condition holds takes the place of the end above. One that screens "
        "out ends the survey as soon as no later answer can change its condition. Responses that are "
        "screened out have a list of their own, and are in no count, result, limit or reward. Empty rows are "
        "left out. On anonymous projects with an address, conditions can only name address fields.",
    )
    address_fields = TextField(
        label="Names",
        required=False,
        help_text="One a line, of small letters, digits and _. The values are stored with each response; "
        "prompts show them as [field.campaign], conditions compare field.campaign, and numbers can weigh the "
        "results. Anonymous projects also need the values that are allowed, as in campaign: mail, poster; "
        "give many people the same address there.",
        widget=forms.Textarea(attrs={"rows": 3, "placeholder": "campaign"}),
    )
    message = TextField(
        label="Message",
        required=False,
        max_length=4000,
        help_text="An @ written here mentions nobody.",
        widget=forms.Textarea(attrs={"rows": 3}),
    )
    image_url = forms.CharField(
        label="Picture",
        required=False,
        help_text="The https address of a large picture.",
        widget=forms.TextInput(attrs=PICTURE),
    )
    thumbnail_url = forms.CharField(
        label="Small picture",
        required=False,
        help_text="The https address of a picture for the corner.",
        widget=forms.TextInput(attrs=PICTURE),
    )
    border_color = TextField(
        label="Colour",
        required=False,
        max_length=7,
        help_text="Of the post’s edge while it is open, such as #4b4fcc.",
        widget=forms.TextInput(attrs={"data-colour": ""}),
    )
    info_display = CardField(label="Facts about it", cards=DISPLAYS, is_small=True)
    border_color_closed = TextField(
        label="Colour once closed",
        required=False,
        max_length=7,
        help_text="Of the post’s edge once it is closed.",
        widget=forms.TextInput(attrs={"data-colour": ""}),
    )
    footer = TextField(
        label="Footer",
        required=False,
        max_length=2048,
    )
    answer_button_label = TextField(
        label="Words on the button",
        required=False,
        max_length=80,
    )
    answer_button_color = CardField(label="Colour of the button", cards=BUTTONS, is_small=True)

    def __init__(self, data: Mapping[str, Any] | None, *, page: ProjectPage) -> None:
        super().__init__(data, page=page)
        self.knows_server = False
        limit = settings.CONVERSATIONS_PER_PROJECT_AND_MINUTE
        self.fields["max_begun_per_minute"].help_text += f" Empty: {limit:,}."
        if not page.actor.is_admin:
            del self.fields["ping_role_ids"]
        if not page.project.is_poll:
            del self.fields["change_poll"]
        if page.project.is_poll or not page.project.scoring_enabled:
            del self.fields["lock_graded_answers"]
        if page.project.is_poll:
            del self.fields["advance_on_choice"], self.fields["review"]
            cast(Any, self.fields["ends"]).leave_out("screen_out")
        if page.project.is_anonymous:
            del self.fields["mail_copy"]
        self._offer_sources()
        self._offer_server()
        for name in PREMIUM_INVITATION:
            premium(self, name)

    def _offer_sources(self) -> None:
        """Offer the community's sources, and keep chosen sources that were removed."""
        field = self.fields["verified_source_ids"]
        assert isinstance(field, forms.MultipleChoiceField)
        known = verified_sources.in_community(community_id=self.project.community_id)
        choices = [(str(source.pk), source.label) for source in known]
        gone = {*self.initial["verified_source_ids"]} - {key for key, _ in choices}
        choices += [(key, f"Number {key}, which nobody meets: it was removed") for key in sorted(gone)]
        field.choices = choices
        text = (
            "People must meet one of these with an account of theirs. None chosen: no account is asked for."
            if choices
            else "There are none yet. A verified source asks something of an account elsewhere, such as a "
            "subscription to your channel."
        )
        field.help_text = format_html(
            '{} <a href="{}">Verified sources</a>',
            text,
            reverse("admin:communities_verifiedsource_changelist"),
        )

    def _offer_server(self) -> None:
        """Offer roles by name, if the community's server is known."""
        if (guild := self.guild) is None:
            return
        self.knows_server = True
        for name, text in _ROLES.items():
            if (old := self.fields.get(name)) is None:
                continue
            self.initial[name] = chosen = str(self.initial[name] or "").split()
            field = forms.MultipleChoiceField(
                label=old.label,
                required=False,
                choices=role_choices(guild, chosen),
                widget=forms.CheckboxSelectMultiple,
                help_text=text,
            )
            field.show_hidden_initial, field.disabled = old.show_hidden_initial, old.disabled
            self.fields[name] = field

    def shown(self, name: str, value: Any) -> Any:
        if name == "verified_source_ids":
            return [str(each) for each in value or []]
        if name in _ROWS:
            return value
        if name == "address_fields" and isinstance(value, dict):
            return "\n".join(f"{field}: {', '.join(values)}" for field, values in value.items())
        return super().shown(name, value)

    def clean_address_fields(self) -> str:
        """The names of the declared fields.

        Raises ValidationError for the faults that the form explains better than the API.
        """
        text: str = self.cleaned_data["address_fields"]
        is_anonymous = self.cleaned_data.get("privacy_mode") == Project.PrivacyMode.ANONYMOUS
        if found := list(address_fields.faults(address_fields.read(text), is_anonymous=is_anonymous)):
            raise forms.ValidationError(found)
        return text

    def after_saving(self) -> Sequence[str]:
        """A message about names that were removed, but that the script still uses."""
        if "address_fields" not in self.changed_data:
            return ()
        before = set(address_fields.read(self.initial["address_fields"] or ""))
        removed = before.difference(address_fields.read(self.cleaned_data["address_fields"]))
        script = script_cache.script_of(self.project)
        missed = address_fields.missed_in(script, sorted(removed))
        return [missed] if missed else ()

    @property
    def drawn_sections(self) -> list[tuple[Section, list[BoundField]]]:
        (schedule, fields), *others = super().drawn_sections
        return [(replace(schedule, text=_when_times_apply(self.page)), fields), *others]

    def delivery_as_typed(self) -> dict[str, Any]:
        """The changes of the delivery group that are individually valid: for the preview of the post."""
        if not self.is_bound:
            return {}
        self.is_valid()
        is_at_fault = {*self.paths}.difference(self.cleaned_data)
        fields = {name: path for name, path in self.paths.items() if name not in is_at_fault}
        changes: dict[str, Any] = self.changes(fields).get("delivery", {})
        return changes

    def tell_places(self) -> None:
        """Say how far each limit of completed responses is used, and what looks like a mistake in a row."""
        notes: dict[str, list[str]] = {}
        for each in places.figures(self.project) if self.page.may_own else ():  # rule 7.122
            state = (
                " They are being counted." if each.is_counting else " They are full." if each.is_full else ""
            )
            refused = f" Refused at the end: {each.refused:,}." if each.refused else ""
            text = f"{each.filled:,} of {each.limit:,} are taken.{state}{refused}"
            if each.where:
                notes.setdefault(each.where, []).append(text)
            else:
                field = self.fields["max_completes"]
                field.help_text = f"{field.help_text} {text}"
        screened_out = ends.figures(self.project) if self.project.ends and self.page.may_own else {}
        for text, number in screened_out.items():
            if text:
                notes.setdefault(text, []).append(f"Screened out: {number:,}.")
        if self.project.quotas or self.project.ends:
            script = script_cache.script_of(self.project)
            for doubt in script_settings.doubts(self.project, script):
                name, _, place = doubt.field.removeprefix("settings.").partition("[")
                row = getattr(self.project, name)[int(place.partition("]")[0])]
                notes.setdefault(row["where"], []).append(f"Warning: {self._in_words(doubt.message)}")
        for name in _ROWS:
            widget = self.fields[name].widget
            assert isinstance(widget, RowsWidget)
            widget.notes = notes

    def changes(self, among: Collection[str] | None = None) -> dict[str, Any]:
        """The changes; without an address there is no button at the end."""
        changes = super().changes(among)
        sent = changes.get("settings", {})
        if "end" in sent and not self.cleaned_data.get("end_url"):
            sent["end"] = None
        return changes

    def sent(self, name: str, value: Any) -> Any:
        if name == "answer_button_color" and value:
            return int(value)
        if name in _COLOURS and value:
            return value.removeprefix("#")
        if name == "verified_source_ids":
            return [int(each) for each in value]
        if name in _ROLES and self.knows_server:
            return list(value)
        if name == "address_fields":
            return address_fields.read(value)
        return super().sent(name, value)


def _when_times_apply(page: ProjectPage) -> str:
    if page.project.is_live_at(page.at):
        return (
            "The project is open. A new closing time applies as soon as it is saved, "
            "a new opening time once the project has been closed."
        )
    if page.project.is_pending_at(page.at):
        return "The project waits for its opening time. Other times apply as soon as they are saved."
    applies = "These times apply once you open the project with the button above."
    return f"{applies} {times_that_are_over(page)}".strip()


@project_tab("delivery")
def delivery(request: HttpRequest, page: ProjectPage) -> HttpResponse:
    """The tab: draw it, or save the changes."""
    return project_forms.show(request, page, DeliveryForm, context=lambda form: _context(page, form))


@project_tab("delivery")
def preview(request: HttpRequest, page: ProjectPage) -> HttpResponse:
    """The post in the chat with the typed values of the form; nothing is saved."""
    if not page.may_edit:
        raise PermissionDenied
    if request.method != "POST":
        return HttpResponseNotAllowed(["POST"])
    form = DeliveryForm(request.POST, page=page)
    return render(request, "admin/surveys/project/post.html", dict(_post(page, form)))


def _post(page: ProjectPage, form: ProjectForm) -> Mapping[str, object]:
    assert isinstance(form, DeliveryForm)
    typed = form.delivery_as_typed()
    post = post_preview.draw(page.project, typed, tier=page.actor.tier, at=page.at)
    return {"post": post, "post_address": page.address("delivery_preview")}


def _context(page: ProjectPage, form: ProjectForm) -> Mapping[str, object]:
    project = page.project
    assert isinstance(form, DeliveryForm)
    form.tell_places()
    return {
        **_post(page, form),
        "proofs": proofs_of(project) if page.may_read_counts else None,
        "has_contents": True,
        "script_address": page.address("script") if page.may_edit else "",
        "suspected_address": f"{page.address('responses')}?suspected=true",
        "noun": noun_of(project),
    }
