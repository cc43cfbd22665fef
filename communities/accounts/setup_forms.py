"""The steps of the set-up wizard: their fields, and the values that they save."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django import forms
from django.utils.html import format_html
from django.utils.safestring import SafeString

from communities.forms.pictures import PictureField
from communities.ground import privacy_words
from communities.ground.form_fields import TextField
from communities.models import Community, CommunitySettings

ON, OFF = "on", "off"


def _choice(value: str, title: str, text: str) -> tuple[str, SafeString]:
    return value, format_html('<span><b>{}</b><span class="soft small block">{}</span></span>', title, text)


_GOOD_FOR = {"no": "votes and planning", "yes": "honest opinions", "more_anonymous": "small groups"}
PRIVACY = [
    _choice(value, words.name, f"{words.sentence} Good for {_GOOD_FOR[value]}.")
    for value, words in privacy_words.OF_NEW.items()
]
XP = [
    _choice(ON, "Yes, members earn points", "Surveys can give points, levels and achievements for answers."),
    _choice(OFF, "No points", "No survey gives anything but thanks. You can change this later."),
]
THANKS = [
    _choice("default", "Friendly", "A few warm words that we wrote."),
    _choice("form_standard", "Sober", "As on a form: your answers were sent."),
    _choice("custom", "Your own words", "Write them below."),
]
JOINING = [
    _choice(OFF, "People whom we invite", "By mail, or from your server on the chat platform."),
    _choice(ON, "Anybody", "Everybody can make an account here and becomes a member."),
]


class StepForm(forms.Form):
    """One step. `of_community` and `of_settings` are the values to save, by the names of the services."""

    @property
    def of_community(self) -> Mapping[str, Any]:
        return {}

    @property
    def of_settings(self) -> Mapping[str, Any]:
        return {}


class NameForm(StepForm):
    name = TextField(
        max_length=200, label="Name of the community", help_text="As members read it above your surveys."
    )
    icon_url = PictureField(
        required=False,
        label="Picture",
        help_text="The https address of a square picture, such as your logo.",
    )

    @property
    def of_community(self) -> Mapping[str, Any]:
        return {"name": self.cleaned_data["name"], "icon_url": self.cleaned_data["icon_url"] or None}


class PrivacyForm(StepForm):
    default_anonymous_mode = forms.ChoiceField(
        choices=PRIVACY,
        widget=forms.RadioSelect,
        label=privacy_words.LABEL_OF_NEW,
        help_text="Each can choose differently, until its first answer.",
    )

    @property
    def of_settings(self) -> Mapping[str, Any]:
        return {"default_anonymous_mode": self.cleaned_data["default_anonymous_mode"]}


class XpForm(StepForm):
    use_xp = forms.ChoiceField(choices=XP, widget=forms.RadioSelect, label="Do members earn points?")
    xp_name = TextField(
        max_length=50,
        required=False,
        label="What the points are called",
        help_text="Such as “XP”, “stars” or “pawns”; “XP” if left empty.",
    )

    @property
    def of_settings(self) -> Mapping[str, Any]:
        return {"use_xp": self.cleaned_data["use_xp"] == ON, "xp_name": self.cleaned_data["xp_name"] or "XP"}


class ThanksForm(StepForm):
    thank_you_type = forms.ChoiceField(
        choices=THANKS, widget=forms.RadioSelect, label="What respondents read at the end"
    )
    thank_you_custom_message = TextField(
        max_length=4000, required=False, label="Your own words", widget=forms.Textarea(attrs={"rows": 3})
    )
    allow_sign_up = forms.ChoiceField(choices=JOINING, widget=forms.RadioSelect, label="Who may join")

    def clean(self) -> dict[str, Any]:
        values = self.cleaned_data
        is_custom = values.get("thank_you_type") == CommunitySettings.ThankYouType.CUSTOM
        if is_custom and not values.get("thank_you_custom_message", "").strip():
            self.add_error("thank_you_custom_message", "Write your own words, or choose ours.")
        return values

    @property
    def of_settings(self) -> Mapping[str, Any]:
        values = self.cleaned_data
        return {
            "thank_you_type": values["thank_you_type"],
            "thank_you_custom_message": values["thank_you_custom_message"] or None,
            "allow_sign_up": values["allow_sign_up"] == ON,
        }


@dataclass(frozen=True, slots=True)
class Step:
    """A step: its part of the address, its name in the progress, its heading and its topic."""

    slug: str
    name: str
    heading: str
    text: str
    form: type[StepForm]


STEPS = (
    Step("name", "Name", "What is your community called?", "This is how members recognise it.", NameForm),
    Step(
        "privacy",
        "Privacy",
        privacy_words.QUESTION,
        "Respondents read this before they begin.",
        PrivacyForm,
    ),
    Step("points", "Points", "A little game on the side?", "Points make answering more fun.", XpForm),
    Step("thanks", "Thanks", "Thanks, and who may join", "The last two choices.", ThanksForm),
)


def initial_of(community: Community, settings: CommunitySettings) -> dict[str, Any]:
    """The initial values of the steps: the current values."""
    return {
        "name": community.name,
        "icon_url": community.icon_url or "",
        "default_anonymous_mode": settings.default_anonymous_mode or "no",
        "use_xp": ON if settings.gives_xp else OFF,
        "xp_name": settings.name_of_xp,
        "thank_you_type": settings.thank_you_type or "default",
        "thank_you_custom_message": settings.thank_you_custom_message or "",
        "allow_sign_up": ON if settings.allow_sign_up else OFF,
    }
