"""The texts about privacy are the same in the settings and for respondents."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from django.conf import settings

from communities.accounts import setup_forms
from communities.admin import community_forms
from communities.ground import privacy_words
from communities.models import CommunitySettings
from surveys.admin import cards
from surveys.chat import words as chat_words
from surveys.drawing.words import WORDS
from surveys.models import Project
from surveys.services.projects.fields import PRIVACY_BY_DEFAULT
from tests.support.cases import try_each
from tests.support.surveys.project_tabs import project_staff

OWN_WORDS = re.compile(r"who answered what|see who answered|who gave an answer", re.IGNORECASE)
MODES = {
    "transparent": privacy_words.TRANSPARENT,
    "semi-private": privacy_words.SEMI_PRIVATE,
    "anonymous": privacy_words.ANONYMOUS,
}


def test_forms_of_projects_and_communities_and_the_set_up_use_them() -> None:
    of_community = {value: str(label) for value, label in community_forms.PRIVACY}
    of_set_up = {value: str(label) for value, label in setup_forms.PRIVACY}

    assert {*of_community} == {*of_set_up} == {*CommunitySettings.AnonymousMode.values}
    assert {*cards.PRIVACY} == {*MODES} == {*Project.PrivacyMode.values}
    for mode, words in MODES.items():
        assert cards.PRIVACY[mode].label == words.name
        assert cards.PRIVACY[mode].text.startswith(words.sentence)
    for value in CommunitySettings.AnonymousMode.values:
        words = privacy_words.OF_NEW[value]
        assert words.name.startswith(MODES[PRIVACY_BY_DEFAULT[value][0]].name)
        assert of_community[value] == words.in_a_line
        assert words.name in of_set_up[value]
        assert words.sentence in of_set_up[value]


@pytest.mark.django_db
@pytest.mark.parametrize("value", CommunitySettings.AnonymousMode.values)
def test_the_form_of_a_project_names_the_default_as_the_setting_of_the_community_does(value: str) -> None:
    staff = project_staff()
    CommunitySettings.objects.update_or_create(
        community=staff.community, defaults={"default_anonymous_mode": value}
    )

    page = staff.read("/admin/surveys/project/add/")

    assert f"The community’s default is chosen: {privacy_words.OF_NEW[value].in_a_line}" in page


def test_respondents_read_them_on_pages_and_in_the_chat() -> None:
    assert WORDS["members_read"] == chat_words.MEMBERS_READ == privacy_words.TRANSPARENT.sentence
    assert WORDS["team_reads"] == chat_words.TEAM_READS == privacy_words.SEMI_PRIVATE.sentence


@try_each("folder", ["communities", "surveys", "xp", "webhooks", "templates"])
def test_no_other_place_has_words_of_its_own(folder: str) -> None:
    files = [
        path
        for path in (Path(settings.BASE_DIR) / folder).rglob("*.*")
        if path.suffix in (".py", ".html", ".js", ".txt") and path.name != "privacy_words.py"
    ]

    found = [
        f"{path.name}: {line.strip()}"
        for path in files
        for line in path.read_text().splitlines()
        if OWN_WORDS.search(line) and not re.search(r'"""|^\s*#', line)
    ]

    assert files
    assert found == []
