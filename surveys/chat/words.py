"""The fixed texts in chat. All other text comes from the author of a survey."""

from __future__ import annotations

import re

from communities.chat_platform.limits import SERVER_EMOJI
from communities.ground import privacy_words
from surveys.engine.language.piping import Authored

# Characters that the platform reads as markup or as a mention. An escape shows them literally.
_MARKUP = re.compile(r"([\\`*_~|>#\[\]()<@:-])")
_BOLD = re.compile(r"(?<![\\\w])__(?=\S)((?:[^\\_]|\\.|_(?!_))+?)(?<=[^\s\\])__(?!\w)")

ANSWER, VOTE, INFO = "Answer", "Vote", "Info"
BACK, SKIP, SUBMIT, UNDO = "Back", "Skip", "Submit", "Undo"
WRITE, WRITE_NUMBER, CHANGE_TEXT = "Write answer", "Enter a number", "Change answer"
AGAIN, CHANGE, RETRACT = "Answer again", "Change my vote", "Take my vote back"
WELCOME_BACK = "Welcome back, you were here."
MOVED_ON = "You were further on already. Here is where you are."
BUSY = "Much is going on right now. Nothing is lost: please press that again."
TOO_FAST = "That was very fast. Nothing is lost: please wait a few seconds and press again."
NOT_YOURS = "This belongs to somebody else, or is too old. Please press “Answer” under the survey yourself."
ASKED_BY_AI = "-# Asked by an AI"
LOCKED = "-# Your answer stays, because you have read whether it is right."
PRESS_AGAIN = "That click came twice, and counts once. Please press again if nothing happened."
GONE = "This is not there any more."
CHANGED = "The questions have changed since this message was made. Please try again below the newest one."
OTHER_PRIVACY = (
    "What was said about your answers has changed since this message was made. Please read it again there, "
    "and vote then."
)
FAULT = "Something went wrong on our side. What you answered before is saved. Please try again in a moment."
NOT_CONNECTED = "This server is not connected with Colloquy."
TAKEN_BACK = "Your vote was taken back."
LIMIT = "You have answered this as often as its author allows. Thank you!"
AGREE = "I agree"
FULL = "Your last answer is not stored. What you answered before is kept as an unfinished response."
ANSWERED_BEFORE = "You have answered this already, and your answers are in."
ANSWER_ADDS = "-# Answering again adds another response. This one stays."
VOTED_BEFORE = "You have voted already, and this poll does not let votes be changed."
VOTED_ELSEWHERE = (
    "You have voted already. This poll is anonymous: your vote can be changed in the message that you got "
    "when you voted, and nowhere else."
)
ONLY_IN_SERVER = "Please use this in the server of your community."
TIMED_OUT = "You are timed out in this server, so you cannot answer right now."
PENDING = "Please accept the rules of this server first. Then you can answer."
ANONYMOUS = (
    "🔒 Anonymous: nothing that we store joins your answers to you. So we cannot find them again either: "
    "keep this message until you have finished."
)
MEMBERS_READ, TEAM_READS = privacy_words.TRANSPARENT.sentence, privacy_words.SEMI_PRIVATE.sentence
RIGHT, NOT_RIGHT = "✅ That is right.", "❌ Not quite."
OPEN_AGAIN = "Answers are taken again. The results are shown here after the closing."
RESULTS_LATER = "The results can be seen once the poll is closed."


def escape(text: str) -> str:
    """A text that a respondent wrote, escaped: the platform shows no markup, links or mentions in it.

    A value that the author wrote keeps its emoji.
    """
    return shown(text) if isinstance(text, Authored) else _MARKUP.sub(r"\\\1", text)


def shown(text: str) -> str:
    """A name or label that an author wrote, escaped except for server emoji, which the platform draws.

    Buttons show the same text without markup (rule 6.45).
    """
    pieces, end = list[str](), 0
    for match in SERVER_EMOJI.finditer(text):
        pieces += _MARKUP.sub(r"\\\1", text[end : match.start()]), match[0]
        end = match.end()
    return "".join([*pieces, _MARKUP.sub(r"\\\1", text[end:])])


def marked(text: str) -> str:
    """An author's text with the platform's marks: `__bold__` would be underlined there."""
    return _BOLD.sub(r"**\1**", text) if "__" in text else text


def plain(text: str) -> str:
    """A text for a place where the platform draws no server emoji: the name `:rook:` replaces the code."""
    return SERVER_EMOJI.sub(r":\2:", text)


def clip(text: str, most: int) -> str:
    """A text shortened to `most` characters with an ellipsis, but never inside the code of an emoji."""
    if len(text) <= most:
        return text
    end = most - 1
    cut = (each.start() for each in SERVER_EMOJI.finditer(text) if each.start() < end < each.end())
    return f"{text[: next(cut, end)].rstrip()}…"
