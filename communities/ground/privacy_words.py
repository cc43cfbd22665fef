"""The texts that say who sees who answered: the same for all pages, messages and forms."""

from __future__ import annotations

from dataclasses import dataclass

from communities.ground.translation import count

QUESTION = "Who sees who answered what?"
AI_ASKS = "An AI may ask a further question about what you write."
ADDRESS = "How this community handles data"
LABEL_OF_NEW = "Privacy of new surveys and polls"


@dataclass(frozen=True, slots=True)
class PrivacyWords:
    """The texts of a privacy mode: its name, which is also the interface's value, and a sentence about the
    mode.
    """

    name: str
    sentence: str

    @property
    def in_a_line(self) -> str:
        return f"{self.name}: {self.sentence[:1].lower()}{self.sentence[1:]}"


TRANSPARENT = PrivacyWords("Transparent", "Everybody in the community can see who answered what.")
SEMI_PRIVATE = PrivacyWords(
    "Semi-private", "Only the authors and the community’s admins can see who answered what."
)
ANONYMOUS = PrivacyWords("Anonymous", "Nobody can see who answered what.")
ANONYMOUS_BY_DAY = PrivacyWords(
    "Anonymous, without times", "Nobody can see who answered what, and of each answer only the day is stored."
)
# The modes for a community's setting for new projects, by the interface's values.
OF_NEW = {"no": TRANSPARENT, "yes": ANONYMOUS, "more_anonymous": ANONYMOUS_BY_DAY}


def deleted_after(days: int | None) -> str:
    """A sentence that says when answers are deleted; empty if they are kept."""
    return (
        ""
        if days is None
        else count(days, "Answers are deleted after {n} day.", "Answers are deleted after {n} days.")
    )
