"""How often a person may complete a project with the responses that an import adds, and how old these are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from types import MappingProxyType

from communities.ground.errors import Conflict, ViolationJson
from surveys.engine.script import Violation
from surveys.models import Project
from surveys.services.conversations import completions, respondents
from surveys.services.conversations.completions import Count
from surveys.services.imports.people import Person
from surveys.services.imports.sent import SentResponse

NOBODY = Count()


def too_old(*, project: Project, sent: Sequence[SentResponse], at: datetime) -> Iterator[ViolationJson]:
    """A violation for each response that the project would delete at once (rule 6.274)."""
    days = project.keep_responses_days
    if days is None:
        return
    for each in sent:
        if each.submitted_at is not None and each.submitted_at < at - timedelta(days=days):
            message = (
                f"`submitted_at` is more than {days} days ago. The project deletes such a response at once "
                "(`settings.keep_responses_days`)."
            )
            yield each.violation(Violation("submitted_at", "too_small", message))


def violations(
    *,
    project: Project,
    sent: Sequence[SentResponse],
    people: Mapping[int, Person],
    before: Mapping[str, int] = MappingProxyType({}),
) -> Iterator[ViolationJson]:
    """A violation for each completed response beyond the limit of its person; the latest responses exceed
    it. `before` are the completions of each respondent in earlier parts that are not stored yet.
    """
    most = respondents.most_completions(project)
    if most is None or not people:
        return
    keys = {person.respondent for person in people.values()}
    known = completions.counts(project_id=project.pk, respondents=keys)
    for each, person, number in _in_order_of_completion(sent, people):
        earlier = known.get(person.respondent, NOBODY).completions + before.get(person.respondent, 0)
        if earlier + number > most:
            times = "once" if most == 1 else f"{most} times"
            message = f"With this response, this person has completed the project more than {times}."
            yield each.violation(Violation("platform_id", "too_many", message))


def count_completions(
    *, project: Project, sent: Sequence[SentResponse], people: Mapping[int, Person]
) -> Mapping[int, int]:
    """Count the completions, and return the session number of each completed response by line.

    Sessions are numbered in the order in which they were submitted, after the project's existing sessions.
    Raises Conflict if a person has reached the limit since `violations` checked.
    """
    numbered = list(_in_order_of_completion(sent, people))
    added = Counter(person.respondent for _, person, _ in numbered)
    if not added:
        return {}
    after = completions.complete_many(project_id=project.pk, numbers=added)
    most = respondents.most_completions(project)
    if most is not None and any(counted.completions > most for counted in after.values()):
        message = "Somebody whose response this is has just completed the project. Please retry."
        raise Conflict(message, retry_after=1)
    return {
        each.line: after[person.respondent].last_session - added[person.respondent] + number
        for each, person, number in numbered
    }


def _in_order_of_completion(
    sent: Sequence[SentResponse], people: Mapping[int, Person]
) -> Iterator[tuple[SentResponse, Person, int]]:
    """The completed responses of known people in order of time, with a number from 1 for each person."""
    completed = [each for each in sent if each.submitted_at is not None and each.line in people]
    numbers = Counter[str]()
    for each in sorted(completed, key=lambda each: (each.submitted_at, each.line)):
        person = people[each.line]
        numbers[person.respondent] += 1
        yield each, person, numbers[person.respondent]
