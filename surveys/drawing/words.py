"""The fixed texts of the respondent's pages. All other text comes from the survey's author."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime
from functools import cache
from types import MappingProxyType, SimpleNamespace

from django.utils import dateformat, translation

from communities.ground import privacy_words
from communities.ground.translation import in_language, language, say

WORDS: Mapping[str, str] = MappingProxyType(
    {
        "signed_in": "You are signed in.",
        "is_anonymous": "Your answers are anonymous: nothing that we store joins them to you.",
        "answers_as": "You answer as {name}.",
        "by_link": "You answer by a personal link.",
        "link_is_anonymous": (
            "Your answers are anonymous: nothing that we store joins them to you or to this link, not even "
            "that or when you opened it."
        ),
        "members_read": privacy_words.TRANSPARENT.sentence,
        "members_read_this": "Everybody in the community can see the answers that you give here.",
        "team_reads": privacy_words.SEMI_PRIVATE.sentence,
        "team_reads_this": (
            "Only the authors and the community’s admins can see the answers that you give here."
        ),
        "site_reads_this": "The site around this page could see these answers, too.",
        "ai_asks": privacy_words.AI_ASKS,
        "privacy": privacy_words.ADDRESS,
        "collect": "Sign in to collect {what}",
        "only_members": ", if you are a member of the community.",
        "members_get": "Only members of the community get {what}.",
        "not_you": "Not you?",
        "jump": "Go to the question",
        "open_until": "Open until",
        "question": "Question",
        "past": "What was said so far",
        "earlier": "Show earlier answers",
        "later": "Show later answers",
        "you": "You",
        "skipped": "Skipped",
        "error": "Error",
        "trap": "Leave this field empty. Only programs fill it in",
        "consent": "Please tick the box to agree. Nothing is stored yet.",
        "no_program": "To show that you are not a program:",
        "skip": "Skip",
        "review": "Please look at your answers before you send them.",
        "send": "Send my answers",
        "change": "Change",
        "your_answers": "Your answers",
        "print": "Print",
        "mail_to": "Mail a copy to",
        "mail_help": (
            "The confirmed address of your account gets your answers. Any other address gets a link to them, "
            "which works for 30 days."
        ),
        "mail_copy": "Send the copy",
        "share_it": "Share",
        "shared": "The address is copied.",
        "your_answer_to": "your answer to",
        "video": "Video on {site}",
        "play": "Play the video",
        "learns": "{site} learns your IP address once you play it, and none of your answers.",
        "watch": "Watch it on {site}",
        "stay": "Wait here",
        "press": "or press",
        "back": "Back",
        "right": "That is right.",
        "not_right": "Not quite.",
        "choose": "Choose one",
        "sign": "Change between plus and minus",
        "full": "That is the most you can choose. Take one away to choose another.",
        "own_text": "Your own answer for “{option}”",
        "left": "{n} characters left",
        "over": "{n} characters too many",
        "up": "Move {item} up",
        "down": "Move {item} down",
        "moved": "{item} is now number {n} of {all}",
        "choose_item": "Choose {item}",
        "take_out": "Take {item} out",
        "not_ranked": "{item} is not ranked",
        "arrows": "The arrow keys lead from item to item.",
        "order_is_open": "This order is not your answer yet.",
        "keep_order": "Keep this order",
        "order_taken": "All items are ranked in this order",
        "own": "Your vote",
        "so_far": "See the results so far",
        "table": "Show as a table",
        "answer": "Answer",
        "votes": "Votes",
        "share": "Share of votes",
        "earned": "What you have earned",
        "achievement": "Achievement earned",
        "level": "Level",
        "new_level": "New",
        "way": "Way to the next level",
        "kept": "Your answer, which was not saved",
        "done": "Finished",
        "again": "Try again",
        "offline": (
            "You seem to be offline. Keep this page open: your answer is sent as soon as you are back."
        ),
        "fault": "Something went wrong on our side. Keep this page open, and please send your answer again.",
        "sending": "Sending…",
        "changed": "Your answer is not sent yet. Send it once you have finished it.",
    }
)


def words_now() -> SimpleNamespace:
    """The texts in the current language, as attributes: templates find these faster than items."""
    return _words_in(language())


def time_in_words(moment: datetime) -> str:
    """A time, which `local-times.js` replaces by that of the reader's zone."""
    return _formatted(moment, say("j F Y, H:i"))


def day_in_words(day: date) -> str:
    """A day as respondents read it: `31 Jan 2026`."""
    return _formatted(day, say("j M Y"))


def _formatted(moment: date, pattern: str) -> str:
    with translation.override(language()):  # for the names of months
        return dateformat.format(moment, pattern)


@cache
def _words_in(tag: str) -> SimpleNamespace:
    with in_language(tag):
        return SimpleNamespace(**{name: say(text) for name, text in WORDS.items()})


WELCOME_BACK = "Welcome back, you were here."
MOVED_ON = (
    "This page was out of date, perhaps because you went on in another window. Here is where you are now."
)
FINISHED = "This page was out of date: you have finished already, perhaps in another window."
VOTED = "This page was out of date: you have voted already, perhaps in another window. That vote stays."
OTHER_PRIVACY = (
    "What you were told about who sees your answers has changed. {now} If you agree, please send this once "
    "more: your answer is still here."
)
SIGNED_OUT = "You are signed out, so this was not saved. Sign in again to go on where you were."
ONCE_MORE = "Please send this once more. Your answer is still here."
TASK = "One moment: this page makes sure that you are a person and not a program. Your answer is still here."
ANOTHER_TASK = "That was not right, or it took too long. Please try this one: your answer is still here."
REWRITTEN = "The author has changed the questions. Please continue here."
BUSY = "Many answers have come from your network. Please try again later: your answer is still here."
TOO_FAST_1 = (
    "Many answers came at once. Please wait {n} second, then send this once more: your answer is still here."
)
TOO_FAST = (
    "Many answers came at once. Please wait {n} seconds, then send this once more: your answer is still here."
)
MAILED = "A mail is on its way to {to}, unless its owner wants no mails from here."
NOT_AN_ADDRESS = "Enter an e-mail address, for example ada@example.org."
TOO_MANY_MAILS = "Too many mails were sent today. Please print your answers, or try again tomorrow."
TAKEN_BACK = "Your vote was taken back."
