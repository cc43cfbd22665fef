"""The tab Rewards: XP, the achievement, roles, and the scoring of a quiz or a test."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from django import forms
from django.http import HttpRequest, HttpResponse

from communities import services as communities
from communities.ground.form_fields import TextField
from communities.ground.words import plural
from communities.services.chat import overview
from communities.services.pictures import copies
from communities.services.pictures.copies import Copy
from communities.staff.chat_choices import offer_reward_role
from surveys.admin import project_forms
from surveys.admin.frame import ProjectPage, project_tab
from surveys.admin.project_forms import ProjectForm, Section
from surveys.models import Project, buckets_in_order
from surveys.services.scripts import cache as script_cache


class RewardsForm(ProjectForm):
    """The rewards for answering, and the scoring of answers."""

    paths: ClassVar[Mapping[str, str]] = {
        **{
            name: f"rewards.{name}"
            for name in (
                *("use_xp", "achievement_enabled", "achievement_name", "achievement_image_url"),
                *("achievement_id", "achievement_role_id", "discord_role_id"),
            )
        },
        "scoring_enabled": "scoring.enabled",
        "buckets": "scoring.buckets",
    }
    sections: ClassVar[Sequence[Section]] = (
        Section(
            "XP",
            "Points for everybody who completes it; they count on the leaderboard.",
            "xp",
            ("use_xp",),
            more="admin/surveys/project/xp.html",
        ),
        Section(
            "Achievement",
            "A badge on the profile of everybody who completes it.",
            "achievement",
            (
                *("achievement_enabled", "achievement_name", "achievement_image_url"),
                *("achievement_role_id", "achievement_id"),
            ),
            more="admin/surveys/project/achievement.html",
        ),
        Section(
            "Role",
            "A role in the chat for everybody who completes it.",
            "role",
            ("discord_role_id",),
        ),
        Section(
            "Scoring",
            "For quizzes and tests: options carry points, and points are summed by bucket.",
            "score",
            ("scoring_enabled", "buckets"),
            more="admin/surveys/project/scoring.html",
        ),
    )

    use_xp = forms.BooleanField(label="Give XP", required=False)
    achievement_enabled = forms.BooleanField(label="Give an achievement", required=False)
    achievement_name = TextField(
        label="Its name",
        max_length=200,
        required=False,
        help_text="Empty: “Completed:” and the name of the project.",
        widget=forms.TextInput(attrs={"data-badge": "name"}),
    )
    achievement_image_url = forms.CharField(
        label="Its picture",
        required=False,
        help_text="The https address of a picture. Empty: a badge is drawn.",
        widget=forms.TextInput(attrs={"data-badge": "image", "data-picture": "", "inputmode": "url"}),
    )
    achievement_role_id = TextField(
        label="Role with the achievement", required=False, help_text="The id of a role of the chat."
    )
    achievement_id = TextField(
        label="Number of the achievement",
        required=False,
        help_text="Empty: the project gets its own. The same number in two projects means one achievement.",
        widget=forms.TextInput(attrs={"inputmode": "numeric"}),
    )
    discord_role_id = TextField(
        label="Role", required=False, help_text="The id of a role of the chat. Empty: none is given."
    )
    scoring_enabled = forms.BooleanField(
        label="Options carry points",
        required=False,
        help_text="Switch it on before you write the points into the script.",
    )
    buckets = TextField(
        label="Buckets",
        required=False,
        widget=forms.Textarea(attrs={"rows": 3}),
        help_text="What points are summed in, one name a line, such as Strategy and Tactics. "
        "Empty: they come from the script, or there is one called Score.",
    )

    def __init__(self, data: Mapping[str, Any] | None, *, page: ProjectPage) -> None:
        super().__init__(data, page=page)
        self.fields["use_xp"].help_text = _xp_in_words(page)
        guild = overview.snapshot(community_id=page.project.community_id)
        for name in ("achievement_role_id", "discord_role_id"):
            offer_reward_role(self, name, guild, nothing="None is given")
        if page.project.is_live_at(page.at):
            for name in ("scoring_enabled", "buckets"):
                self.fields[name].disabled = True

    def shown(self, name: str, value: Any) -> Any:
        if name == "buckets":  # in their stored form, also while scoring is off
            return "\n".join(bucket.name for bucket in buckets_in_order(self.project))
        return super().shown(name, value)

    def sent(self, name: str, value: Any) -> Any:
        if name == "buckets":
            return [{"name": line.strip()} for line in (value or "").splitlines() if line.strip()]
        return super().sent(name, value)


def _xp_in_words(page: ProjectPage) -> str:
    settings = communities.get_settings(community_id=page.project.community_id)
    name, each, project = settings.xp_name or "XP", settings.xp_per_question or 0, page.project
    if settings.use_xp is False:
        return "The community does not use XP, so none is given."
    if project.is_poll:
        return f"{each} {name} with the vote; taken back with it."
    count = project.question_count
    if not count:
        return f"{each} {name} for each question. The saved script has none yet."
    return f"{each} {name} for each of its {plural(count, 'question')}: {each * count} in all."


def _grades_stay_address(page: ProjectPage) -> str:
    """The address of the setting `lock_graded_answers` on the tab Delivery; empty if the tab does not show
    it.
    """
    has_it = page.project.scoring_enabled and not page.project.is_poll
    return f"{page.address('delivery')}#id_lock_graded_answers" if has_it else ""


def _badge_picture(project: Project) -> Copy | None:
    """Our copy of the achievement's own picture."""
    address = (project.rewards or {}).get("achievement_image_url")
    return copies.in_community(project.community_id, [address]).get(address)


@project_tab("rewards")
def rewards(request: HttpRequest, page: ProjectPage) -> HttpResponse:
    """The tab: draw it, or save what was changed."""
    project = page.project
    script = script_cache.script_of(project)
    giving = [block.name or "" for block in script.blocks if block.action_kind == "give_xp"]
    return project_forms.show(
        request,
        page,
        RewardsForm,
        context=lambda form: {
            "giving_blocks": giving,
            "script_address": page.address("script"),
            "is_live": project.is_live_at(page.at),
            "grades_stay_address": _grades_stay_address(page),
            "badge_picture": _badge_picture(project),
        },
    )
