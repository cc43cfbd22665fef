"""The forms of a community: its own page, and a new one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django import forms

from communities.forms import once
from communities.forms.pictures import ColourField, PictureField
from communities.ground import privacy_words
from communities.ground.form_fields import TextField
from communities.ground.ids import MAX_ID
from communities.ground.web_addresses import MAX_LENGTH, BadAddress, is_link, parse_origin
from communities.models import Community, CommunitySettings
from communities.models.community import MAX_ORIGINS
from communities.services.tenants.communities import MAX_CREDITS
from communities.services.tenants.places import find_time_zone, is_language_tag

PRIVACY = [(value, words.in_a_line) for value, words in privacy_words.OF_NEW.items()]
THANKS = [
    ("default", "Friendly"),
    ("form_standard", "Sober, as on a form"),
    ("custom", "Your own words"),
]
FONTS = [("", "As the theme"), ("sans", "Sans serif"), ("serif", "Serif"), ("rounded", "Rounded")]
CORNERS = [("", "As the theme"), ("round", "Round"), ("soft", "Soft"), ("square", "Square")]
TIERS = [(value, label) for value, label in Community.TierName.choices]
OF_COMMUNITY = ("name", "icon_url", "topics", "tier")
MAX_TOPICS, MAX_TOPIC = 20, 50
MAX_INTEGER = 2**31 - 1  # The database column allows no larger number.


class CommunityForm(forms.Form):
    """The form of a community. Each field also sends the value that the page showed, so that only the user's
    changes are saved.
    """

    name = TextField(max_length=200)
    icon_url = PictureField(
        required=False,
        label="Icon",
        help_text="The https address of a square picture.",
        widget=forms.URLInput(attrs={"data-picture": ""}),
    )
    topics = TextField(
        required=False,
        help_text=f"What the community is about, at most {MAX_TOPICS} words or phrases with commas between.",
    )
    locale = TextField(
        max_length=35,
        required=False,
        label="Language",
        help_text="A language tag, such as en-GB. AI writes in this language if the answers are in none. "
        "Survey pages speak it if it is English, French, German, Portuguese or Spanish; without one, they "
        "speak the reader’s.",
    )
    time_zone = TextField(
        max_length=64,
        label="Time zone",
        widget=forms.TextInput(attrs={"list": "time-zones", "autocomplete": "off"}),
        help_text="Type a city, such as Oslo. Opening and closing times are entered and shown in it. Planned "
        "ones keep their moment if you change it, so they are shown at another time of day.",
    )
    default_anonymous_mode = forms.ChoiceField(
        choices=PRIVACY,
        widget=forms.RadioSelect,
        required=False,
        label=privacy_words.LABEL_OF_NEW,
        help_text="Each can set this differently, until its first answer.",
    )
    privacy_url = forms.CharField(
        max_length=MAX_LENGTH,
        required=False,
        label="Address of your privacy text",
        help_text="An https address. Respondents find a link to it before their first answer.",
        widget=forms.TextInput(attrs={"inputmode": "url"}),
    )
    logo_url = PictureField(
        required=False,
        label="Logo",
        help_text="The https address of a picture for the header of pages, or upload one.",
        widget=forms.URLInput(attrs={"data-picture": ""}),
    )
    accent_color = ColourField(label="Accent colour", help_text="Of buttons and links, such as #4b4fcc.")
    background_color = ColourField(label="Background colour", help_text="Of pages: light or dark.")
    background_url = PictureField(
        required=False,
        label="Background picture",
        widget=forms.URLInput(attrs={"data-picture": ""}),
    )
    font = forms.ChoiceField(choices=FONTS, required=False, label="Font")
    corners = forms.ChoiceField(choices=CORNERS, required=False, label="Corners")
    use_xp = forms.BooleanField(
        required=False, label="Members earn XP", help_text="Without it, no survey gives XP to anybody."
    )
    xp_name = TextField(
        max_length=50, required=False, label="What XP is called", help_text="“XP” if left empty."
    )
    xp_per_question = forms.IntegerField(
        min_value=0,
        max_value=MAX_INTEGER,
        required=False,
        label="For each question",
        help_text="What a survey that gives XP gives for each of its questions; 10 if left empty.",
    )
    use_leader_board = forms.BooleanField(
        required=False, label="There is a leaderboard", help_text="Members can see who has the most XP."
    )
    allow_sign_up = forms.BooleanField(
        required=False,
        label="Anybody may join",
        help_text="People make an account and become members, without an invitation.",
    )
    require_second_factor = forms.BooleanField(
        required=False,
        label="Staff need a second factor",
        help_text="Without a passkey or an authenticator app, nobody opens the community's pages for staff.",
    )
    allowed_origins = TextField(
        required=False,
        label="Sites",
        widget=forms.Textarea(attrs={"rows": 2, "spellcheck": "false"}),
        help_text=f"One in each line, such as https://www.example.com; at most {MAX_ORIGINS}.",
    )
    thank_you_type = forms.ChoiceField(
        choices=THANKS, widget=forms.RadioSelect, required=False, label="Style of the thanks"
    )
    thank_you_custom_message = TextField(
        max_length=4000,
        required=False,
        label="Your own words",
        widget=forms.Textarea(attrs={"rows": 3}),
        help_text="Shown at the end of every survey that has no thanks of its own.",
    )
    thank_you_custom_label = TextField(
        max_length=80,
        required=False,
        label="Button",
        help_text="The words on the button at the end, where a survey has an address for it.",
    )
    tier = forms.ChoiceField(
        choices=TIERS, help_text="Sets the rate limit of API keys, and which features are available."
    )
    bot_credits = forms.IntegerField(
        min_value=0,
        max_value=MAX_CREDITS,
        label="Credits for AI",
        help_text="Credits that are spent before you save are subtracted from your number.",
    )

    def __init__(self, *args: Any, is_superuser: bool, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if not is_superuser:
            del self.fields["tier"], self.fields["bot_credits"]
        for field in self.fields.values():
            field.show_hidden_initial = True

    def clean_topics(self) -> list[str]:
        topics = [each for text in self.cleaned_data["topics"].split(",") if (each := " ".join(text.split()))]
        if len(topics) > MAX_TOPICS:
            raise forms.ValidationError(f"There may be at most {MAX_TOPICS} topics.")
        if any(len(each) > MAX_TOPIC for each in topics):
            raise forms.ValidationError(f"A topic may have at most {MAX_TOPIC} characters.")
        return list(dict.fromkeys(topics))

    def clean_locale(self) -> str:
        locale: str = self.cleaned_data["locale"]
        if locale and not is_language_tag(locale):
            raise forms.ValidationError("This must be the tag of a known language, such as en or pt-BR.")
        return locale

    def clean_privacy_url(self) -> str:
        address: str = self.cleaned_data["privacy_url"]
        if address and not is_link(address):
            raise forms.ValidationError("This must be an address that begins with https://.")
        return address

    def clean_allowed_origins(self) -> list[str]:
        lines = self.cleaned_data["allowed_origins"].split()
        if len(lines) > MAX_ORIGINS:
            raise forms.ValidationError(f"There may be at most {MAX_ORIGINS} sites.")
        try:
            return list(dict.fromkeys(map(parse_origin, lines)))
        except BadAddress as error:
            raise forms.ValidationError(f"Each site {error.reason}") from None

    def clean_time_zone(self) -> str:
        zone = find_time_zone(self.cleaned_data["time_zone"])
        if zone is None:
            raise forms.ValidationError(
                "This is not a time zone. Type a large city of it, or choose one from the list."
            )
        return zone

    @property
    def changes(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """The changed fields of the community, and of its settings. Empty texts become null."""
        values = {
            name: None if self.cleaned_data[name] == "" else self.cleaned_data[name]
            for name in self.changed_data
            if name != "bot_credits"
        }
        return (
            {name: value for name, value in values.items() if name in OF_COMMUNITY},
            {name: value for name, value in values.items() if name not in OF_COMMUNITY},
        )

    @property
    def credits_change(self) -> int:
        """The credits to add: the entered number minus the number that was shown.

        A negative number takes credits.
        """
        if "bot_credits" not in self.changed_data:
            return 0
        began_with = self.fields["bot_credits"].clean(self.data.get(self.add_initial_prefix("bot_credits")))
        return int(self.cleaned_data["bot_credits"] - began_with)


class NewCommunityForm(once.CreationForm):
    name = TextField(max_length=200)
    id = forms.IntegerField(
        min_value=1,
        max_value=MAX_ID,
        widget=forms.TextInput(attrs={"inputmode": "numeric"}),
        help_text="The id of its server on the chat platform. If it has none, keep the proposed id. "
        "It cannot be changed later.",
    )
    tier = forms.ChoiceField(choices=TIERS, initial=Community.TierName.BASIC)
    bot_credits = forms.IntegerField(min_value=0, max_value=MAX_CREDITS, initial=0, label="Credits for AI")


def initial_of(community: Community, settings: CommunitySettings) -> Mapping[str, Any]:
    """The initial values of a community's form."""
    return {
        **{
            name: "" if (value := getattr(settings, name)) is None else value
            for name in CommunityForm.base_fields
            if hasattr(settings, name)
        },
        "default_anonymous_mode": settings.default_anonymous_mode or "no",
        "thank_you_type": settings.thank_you_type or "default",
        "use_xp": settings.gives_xp,
        "use_leader_board": settings.has_leaderboard,
        "allowed_origins": "\n".join(settings.allowed_origins),
        "name": community.name,
        "icon_url": community.icon_url or "",
        "topics": ", ".join(community.topics),
        "tier": community.tier,
        "bot_credits": community.bot_credits,
    }
