"""How pages write times: with the name of the month, in the language of the page's texts, and the zone."""

from __future__ import annotations

import re
from pathlib import Path

from django.conf import settings

ROOT = Path(settings.BASE_DIR)
# Calls that write a date. A call of `toLocaleString` with one argument or none writes a number.
WRITERS = re.compile(
    r"(?:DateTimeFormat|toLocaleDateString|toLocaleTimeString)\(([^,)]*)|toLocaleString\(([^,()]*),"
)
OF_VISITORS = ("respondent", "results", "account")
TIME = re.compile(r"<time [^>]*>(.*?)</time>", re.DOTALL)


def test_each_script_that_writes_a_time_names_its_language() -> None:
    found = {
        (path.name, *filter(None, match.groups()))
        for app in ("communities", "surveys", "webhooks", "xp")
        for path in (ROOT / app).rglob("static/**/*.js")
        if path.name != "known-lists.js"  # writes names of months as options, in the language of one's choice
        for match in WRITERS.finditer(path.read_text())
    }

    assert len(found) >= 3
    of_the_page = 'lang === "en" ? "en-GB" : lang'
    assert {language for _, language in found} == {'"en-GB"', of_the_page}
    assert {name for name, language in found if language == of_the_page} == {"local-times.js"}


def test_each_time_on_a_page_of_visitors_names_its_zone_and_not_its_month_by_a_number() -> None:
    times = [
        time
        for folder in OF_VISITORS
        for path in (ROOT / "templates" / folder).rglob("*.html")
        for time in TIME.findall(path.read_text())
    ]

    assert len(times) >= 4
    assert [time for time in times if "UTC" not in time and "tzname()" not in time] == []
    assert [time for time in times if re.search("%[mbDxc]", time)] == []
