"""The rewards that a respondent sees."""

from __future__ import annotations

import re
from typing import Any

import pytest

from communities.models import CommunitySettings, Picture
from surveys.models import Conversation, FiredAction, Project
from tests.support.pictures import copied
from tests.support.surveys import scenario
from tests.support.surveys.rewards import OPEN_WEB, QUESTION, giving, option, project, signed_in
from tests.support.surveys.scenario import SAYING
from tests.support.surveys.visitor import Visitor
from tests.support.xp.ledger import award
from xp.models import XpEntry
from xp.services import achievements

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("in_no_hurry")]

FIFTY = giving(prompt="Well played, [UserName]!", xp_amount=50)
BADGE = giving("give_achievement", prompt="For the wall.", xp_role_id=7)
COSTLY = {**QUESTION, "options": [{"value": "red", "score_values": {"score": -20}}, {"value": "green"}]}
LOSS = giving(prompt="Sorry.", source_key="score")
PICTURE = "https://pictures.example/star.png"


@pytest.fixture
def in_no_hurry(settings: Any, redis: Any) -> None:
    settings.LEAST_SECONDS_TO_FIRST_ANSWER = 0


def answered(made: Any, who: Any = None, **how: Any) -> Visitor:
    """A member who has answered the first question."""
    return signed_in(made, who, **how).send(option=option(made))


def heading(visitor: Visitor) -> str:
    """The text that a screen reader reads at the new focus, in one line."""
    return in_words(re.search(r'<h2 id="question".*?</h2>', visitor.page, re.S))


def earned(visitor: Visitor) -> str:
    return in_words(re.search(r'<section class="earned".*?</section>', visitor.page, re.S))


def in_words(found: re.Match[str] | None) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", found[0]).split()) if found else ""


class TestOnTheWay:
    def test_xp_is_told_with_the_words_it_comes_with(self):
        visitor = answered(project(QUESTION, FIFTY))

        assert heading(visitor) == "+50 XP Well played, Ann!"
        assert "shines" in visitor.page

    def test_it_has_the_community_s_own_name_and_is_told_in_the_past_too(self):
        made = project(QUESTION, FIFTY, {**QUESTION, "name": "next"})
        CommunitySettings.objects.update_or_create(community=made.community, defaults={"xp_name": "pawns"})

        visitor = answered(made)
        assert heading(visitor) == "+50 pawns Well played, Ann!"
        visitor.send("go")

        assert '<span class="amount">+50 pawns</span>' in visitor.page

    def test_a_member_who_is_signed_in_earns_on_the_open_web_too(self):
        member = scenario.member()

        visitor = answered(project(QUESTION, FIFTY, audience=OPEN_WEB), member)

        assert heading(visitor) == "+50 XP Well played, Ann!"
        assert list(XpEntry.objects.values_list("member_id", "delta")) == [(member.pk, 50)]

    @pytest.mark.parametrize("blocks", [[FIFTY], [BADGE]])
    def test_strangers_read_from_the_start_how_to_collect_it(self, blocks):
        """Rule 6.219."""
        made = project(QUESTION, *blocks, audience=OPEN_WEB)
        named = "XP" if blocks == [FIFTY] else "rewards"
        said = rf'<a href="/account/login/\?next=[^"]*">\s*Sign in to collect {named}</a>'

        stranger, member = Visitor(made).look(), signed_in(made)

        assert stranger.has_control(said)
        assert "Sign in to collect" not in member.page
        assert "Sign in to collect" not in Visitor(project(QUESTION, audience=OPEN_WEB)).look().page
        stranger.send(option=option(made))
        assert "Sign in to collect" not in stranger.look().page  # too late for this conversation
        assert f"Only members of the community get {named}." in stranger.page

    def test_where_xp_are_off_nobody_reads_of_them(self):
        made = project(QUESTION, FIFTY, audience=OPEN_WEB)
        CommunitySettings.objects.update_or_create(community=made.community, defaults={"use_xp": False})

        assert "Sign in to collect" not in Visitor(made).look().page

    def test_strangers_read_of_no_xp_that_they_do_not_get(self):
        """Rule 6.219."""
        gift = giving(prompt="You get [xp_points] [xp_name]! Total now: [month_total_xp].", xp_amount=50)
        made = project(QUESTION, gift, {**QUESTION, "name": "next"}, audience=OPEN_WEB)

        visitor = Visitor(made).look().send(option=option(made))

        assert heading(visitor) == "Members of the community get XP here."
        visitor.send("go")
        assert "Members of the community get XP here." in visitor.page
        assert "You get" not in visitor.page
        assert heading(answered(made)) == "+50 XP You get 50 XP! Total now: 50."

    def test_strangers_see_the_words_alone(self):
        made = project(QUESTION, giving(xp_amount=50), BADGE, audience=OPEN_WEB)
        visitor = Visitor(made).look().send(option=option(made))

        assert heading(visitor) == "Here you are."
        assert heading(visitor.send("go")) == "For the wall."
        assert 'class="award' not in visitor.page

    def test_nothing_is_celebrated_where_the_community_gives_no_xp(self):
        made = project(QUESTION, FIFTY)
        CommunitySettings.objects.update_or_create(community=made.community, defaults={"use_xp": False})

        assert heading(answered(made)) == "Well played, Ann!"

    def test_a_deduction_is_told_soberly(self):
        made = project(COSTLY, LOSS, scoring_enabled=True)
        member = scenario.member()
        award(member, 100)

        visitor = answered(made, member)

        assert heading(visitor) == "\N{MINUS SIGN}20 XP Sorry."
        assert "shines" not in visitor.page

    def test_an_achievement_has_its_name_and_the_badge_of_its_number(self):
        made = project(QUESTION, BADGE)
        achievements.define(community_id=1, number=7, name="Night owl")

        visitor = answered(made)

        assert heading(visitor) == "Achievement earned: Night owl For the wall."
        assert '<img src="/badges/7.svg" alt=""' in visitor.page

    def test_one_that_nobody_described_has_its_number(self):
        assert "Achievement 7" in heading(answered(project(QUESTION, BADGE)))

    @pytest.mark.parametrize("where", ["block", "achievement"])
    def test_its_own_picture_stands_in_place_of_the_badge(self, where):
        own = {"image_url": PICTURE} if where == "block" else {}
        made = project(QUESTION, giving("give_achievement", xp_role_id=7, **own))
        achievements.define(community_id=1, number=7, name="Owl", image_url=None if own else PICTURE)
        before_it_is_fetched = answered(made, scenario.member("Ben"))
        Picture.objects.all().delete()
        copy = copied(1, PICTURE)

        visitor = answered(made)

        assert '<img src="/badges/7.svg"' in before_it_is_fetched.page
        assert visitor.page.count(f'"/pictures/{copy.name}"') == 1
        assert "/badges/" not in visitor.page
        for page in (before_it_is_fetched.page, visitor.page):
            assert "pictures.example" not in page

    def test_a_role_comes_with_the_author_s_words(self):
        visitor = answered(project(QUESTION, giving("give_role", prompt="Welcome, trainer!", role_id="9")))

        assert heading(visitor) == "Welcome, trainer!"
        assert 'class="award"' in visitor.page

    def test_what_a_first_page_will_give_is_told_on_it(self):
        made = project(giving(prompt="[xp_points], [earned_xp] so far.", xp_amount=5), QUESTION)

        visitor = signed_in(made)

        assert heading(visitor) == "+5 XP 5, 5 so far."
        assert Conversation.objects.count() == FiredAction.objects.count() == 0
        visitor.send("go")
        assert XpEntry.objects.get().delta == 5

    def test_with_htmx_the_past_grows_by_what_was_given(self):
        visitor = answered(project(QUESTION, FIFTY, {**QUESTION, "name": "next"}), htmx=True)

        visitor.send("go")

        assert "<html" not in visitor.page
        assert visitor.page.count("+50 XP") == 1

    @pytest.mark.parametrize("block", [{**SAYING, "prompt": "Hello."}, giving(xp_amount=1)])
    def test_the_button_of_a_statement_is_a_short_acknowledgement(self, block):
        assert signed_in(project(block, QUESTION)).has_control(r'value="go">Okay</button>')


class TestAtTheEnd:
    def test_xp_and_the_way_to_the_next_level(self):
        made = project(QUESTION, rewards={"use_xp": True})
        member = scenario.member()
        award(member, 330)

        visitor = answered(made, member)

        assert earned(visitor) == (
            "+10 XP You have earned 10 XP. Level 2 Level 3 260 XP to level 3 10 XP this month"
        )
        assert visitor.has_control(
            'role="meter" aria-label="Way to the next level" aria-valuemin="300" aria-valuemax="600" '
            'aria-valuenow="340" aria-valuetext="Level 2, 260 XP to level 3"'
        )
        assert visitor.has_control('<rect width="10.00%".*x="10.00%" width="3.33%"')

    def test_who_listens_hears_it_in_one_breath(self):
        rewards = {"use_xp": True, "achievement_enabled": True, "achievement_name": "Regular"}

        visitor = answered(project(QUESTION, rewards=rewards), htmx=True)

        told = "Finished. You have earned 10 XP. Level 0, 90 XP to level 1. "
        assert f'data-announce="{told}You have earned the achievement “Regular”."' in visitor.page

    def test_a_new_level_is_news_once(self):
        made = project(QUESTION, giving(xp_amount=120))
        visitor = answered(made).send("go")
        assert "Level 1 New" in earned(visitor)
        assert visitor.has_control('<rect width="0.00%"')

        visitor.look()

        assert "Level 1" in earned(visitor)
        assert "New" not in earned(visitor)

    def test_what_was_earned_on_the_way_is_counted_in(self):
        visitor = answered(project(QUESTION, FIFTY, rewards={"use_xp": True})).send("go")

        assert earned(visitor).startswith(
            "+60 XP You have earned 10 XP. With what you earned on the way: 60 XP in all. Level 0"
        )

    def test_a_deduction_is_told_soberly(self):
        member = scenario.member()
        award(member, 100)

        visitor = answered(project(COSTLY, LOSS, scoring_enabled=True), member).send("go")

        assert earned(visitor).startswith("\N{MINUS SIGN}20 XP 20 XP taken away. Level 0")
        assert "shines" not in visitor.page

    def test_achievements_and_roles(self):
        rewards = {"achievement_enabled": True, "achievement_name": "Regular", "discord_role_id": "9"}
        made = project(QUESTION, BADGE, rewards=rewards)
        achievements.define(community_id=1, number=7, name="Night owl")

        visitor = answered(made).send("go")

        assert earned(visitor) == (
            "Achievement earned Night owl You have earned the achievement “Regular”. "
            "You have been given a new role."
        )
        assert re.findall(r"/badges/\d+.svg", visitor.page) == ["/badges/7.svg", "/badges/8.svg"]

    def test_an_achievement_met_twice_is_shown_once(self):
        rewards = {"achievement_enabled": True, "achievement_id": "7", "achievement_name": "Regular"}

        visitor = answered(project(QUESTION, BADGE, rewards=rewards)).send("go")

        assert earned(visitor) == "You have earned the achievement “Regular”."

    def test_strangers_and_who_earned_nothing_see_nothing_of_it(self):
        everything = {"use_xp": True, "achievement_enabled": True, "discord_role_id": "9"}
        made = project(QUESTION, FIFTY, rewards=everything, audience=OPEN_WEB)
        stranger = Visitor(made).look().send(option=option(made)).send("go")
        plain = project(QUESTION)

        assert "Thank you!" in stranger.page
        assert "Thank you!" in answered(plain).page
        assert "earned" not in stranger.page
        assert earned(answered(plain, scenario.member("Bo"))) == ""

    def test_a_second_time_earns_nothing_more_and_says_so_by_silence(self):
        made = project(QUESTION, rewards={"use_xp": True}, settings={"max_completes_per_user": None})
        visitor = answered(made)
        assert earned(visitor)

        visitor.send("again").send(option=option(made))

        assert "Thank you!" in visitor.page
        assert earned(visitor) == ""

    @pytest.mark.parametrize("htmx", [True, False])
    def test_an_anonymous_project_tells_the_amount_once_and_never_the_totals(self, htmx):
        made = project(QUESTION, rewards={"use_xp": True}, privacy_mode="anonymous")

        visitor = answered(made, htmx=htmx)

        assert earned(visitor) == (
            "+10 XP You have earned 10 XP. This is added within about an hour, together with what "
            "others earned, so that nobody can tell which answers are yours."
        )
        assert "meter" not in visitor.page
        assert earned(visitor.look()) == ""

    def test_a_more_anonymous_one_gives_by_tomorrow(self):
        made = project(QUESTION, rewards={"use_xp": True}, privacy_mode="anonymous")
        Project.objects.filter(pk=made.pk).update(rounds_times_to_day=True)

        assert "This is added by tomorrow, together with" in earned(answered(made))


class TestAtAPoll:
    def poll(self, *blocks: dict[str, Any]) -> Any:
        settings = {"change_poll": True, "max_completes_per_user": 1}
        return project(*(blocks or [QUESTION]), type="poll", rewards={"use_xp": True}, settings=settings)

    def test_a_vote_earns_and_gives_back(self):
        visitor = answered(self.poll())
        assert earned(visitor).startswith("+10 XP You have earned 10 XP. Level 0")

        visitor.send("retract")

        assert "Your vote was taken back." in visitor.page
        assert earned(visitor) == ""
        assert [entry.delta for entry in XpEntry.objects.order_by("id")] == [10, -10]

    def test_words_after_the_vote_are_filled_in(self):
        after = {**SAYING, "prompt": "See you, [UserName]! [earned_xp] [xp_name]."}

        assert "See you, Ann! 10 XP." in answered(self.poll(QUESTION, after)).page


class TestVerdicts:
    SCALE: dict[str, Any] = {
        "type": "opinion_scale",
        "name": "jumps",
        "prompt": "From the corner, a knight reaches how many squares?",
        "min": 1,
        "max": 2,
        "required": True,
        "options": [
            {"value": "1", "label": "One"},
            {"value": "2", "label": "Two", "score_values": {"score": 5}},
        ],
        "correct_answer_index": 1,
        "when_correct": "[answer]! [score] of [max_score], [correct_answers] of [max_correct_answers].",
        "when_incorrect": "Not [answer]. [score] of [max_score].",
    }

    @pytest.mark.parametrize(
        ("value", "told"),
        [("2", "That is right. Two! 5 of 5, 1 of 1."), ("1", "Not quite. Not One. 0 of 5.")],
    )
    def test_a_graded_scale_is_judged_with_the_score_so_far(self, value, told):
        made = project(self.SCALE, {**SAYING, "prompt": "[score] points."}, scoring_enabled=True)

        visitor = signed_in(made).send(value=value)

        found = re.search(r'<div class="bubble verdict.*?</div>', visitor.page, re.S)
        assert in_words(found) == told
        assert heading(visitor) == f"{5 if value == '2' else 0} points."
