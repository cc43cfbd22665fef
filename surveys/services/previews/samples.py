"""Sample values for previews, where the real page looks up the respondent: a name, plausible XP, votes."""

from __future__ import annotations

from dataclasses import dataclass

from django.utils.functional import cached_property

from communities import services as communities
from communities.models import CommunitySettings
from surveys.engine.script import SCALES, Block
from surveys.engine.walk.answers import Reply
from surveys.models import Project
from surveys.services.conversations.tokens import TokenContext
from surveys.services.ground import anonymity
from surveys.services.results.poll import PollResults
from xp.services.standings import Totals

QUESTIONS_SO_FAR = 30  # questions that the sample respondent has answered elsewhere
QUESTIONS_THIS_MONTH = 12


@dataclass(frozen=True)
class SampleContext(TokenContext):
    """A sample respondent with the name of the staff member, and with XP in the usual range of the
    community's members.
    """

    staff_name: str = ""

    @cached_property
    def name(self) -> str:
        return "" if self.project.is_anonymous else self.staff_name

    @cached_property
    def totals(self) -> Totals | None:
        if self.project.is_anonymous:
            return None
        settings = settings_of(self.project)
        per_question = settings.xp_for_a_question if settings.gives_xp else 0
        given = sum(self.given.values())
        return Totals(
            total=max(0, per_question * QUESTIONS_SO_FAR + given),
            month=max(0, per_question * QUESTIONS_THIS_MONTH + given),
        )


def settings_of(project: Project) -> CommunitySettings:
    """The settings of the project's community."""
    return communities.get_settings(community_id=project.community_id)


def votes(project: Project, block: Block, reply: Reply | None, *, has_voted: bool) -> PollResults | None:
    """A poll's results with the previewed vote alone, while it is open; None if they would not be shown."""
    mode = project.poll_results_mode
    is_shown = mode == Project.PollResultsMode.PUBLIC or (
        has_voted and mode == Project.PollResultsMode.VOTERS_ONLY
    )
    if not is_shown:
        return None
    if project.is_anonymous:
        return PollResults({}, {}, 0, anonymity.least_answers(project))
    if reply is None or not has_voted:
        return PollResults({}, {}, 0)
    if block.type in SCALES:
        return PollResults({}, {int(str(reply["number"])): 1}, 1)
    chosen = reply["option_ids"]
    assert isinstance(chosen, list)
    return PollResults(dict.fromkeys(chosen, 1), {}, 1)
