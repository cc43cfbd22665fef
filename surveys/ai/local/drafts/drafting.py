"""Scripts built from an intent: its own questions, and a template for the rest.

draft_for_intent(request)   from the intent, in its language or the one that it names
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

from surveys.ai.local.drafts import bank, counts, languages, library, scoring
from surveys.ai.local.drafts.answering import in_language, text_in
from surveys.ai.local.drafts.ask_words import FEEDBACK, FORM, INTERROGATIVE, POINTS, wants_one_open_question
from surveys.ai.local.drafts.asks import Asks, additions, read_asks, without_settings
from surveys.ai.local.drafts.builder import (
    FORM_WELCOME,
    WELCOME,
    adapted_blocks,
    foreign_blocks,
    presentable,
    with_question,
    with_topic,
    written_language,
)
from surveys.ai.local.drafts.composing import (
    Composed,
    compose,
    is_fact,
    with_format,
    with_names_beside,
)
from surveys.ai.local.drafts.formats import SEVERAL, Format, read_scale, split_options
from surveys.ai.local.drafts.intent import Intent, clean, read_intent
from surveys.ai.local.drafts.leftovers import Leftovers, leftovers
from surveys.ai.local.drafts.length import (
    MutableBlock,
    asks_the_same,
    position_for_more,
    resize,
    without_blocks,
)
from surveys.ai.local.drafts.library import RawBlock, Template
from surveys.ai.local.drafts.matching import KEY_PHRASE, KEYWORD, MARGIN, TemplateMatch, best_match, topic_for
from surveys.ai.local.drafts.noun_phrases import AGREEMENT
from surveys.ai.local.drafts.phrasing import question_from
from surveys.ai.local.drafts.prohibitions import asks_about
from surveys.ai.local.drafts.wishes import Wishes, apply_wishes, read_wishes
from surveys.ai.provider import ProposedScript, ScriptRequest
from surveys.engine.rules import placeholders
from surveys.engine.script import QUESTIONS, SCALES

_MOSTLY = 0.8  # If at least this share of the words of an intent is used, the draft uses the intent.
_COVERED, _LITTLE = 0.5, 0.35  # A template that has less of the words than this share is that unsure.
_TOLD, _MOST_WITH_TOLD = re.compile(r"Not (?:asked|used|done)|Asked of everybody"), 0.65
_MOST_NAMED = 8  # One sentence names at most this many asks.
_UNSURE = "This may not be what you asked for."


def draft_for_intent(request: ScriptRequest) -> ProposedScript:
    """Build a script from the questions of the intent, and take the rest from the best template.

    The script also meets the other wishes of the intent, or `unmet` names them. Raises UnwrittenLanguage for
    a language that the library does not have: a script in English would be wrong.
    """
    request = replace(request, intent=clean(request.intent))
    wishes = read_wishes(request.intent)
    spoken = languages.language_of(request.intent, locale=request.locale)
    intent = read_intent(replace(request, intent=wishes.text), language=spoken)
    language = written_language(intent, wishes)
    if intent.language not in languages.written_languages():
        intent = replace(intent, language=language)
    text, _, _ = additions(wishes.text, intent.language)
    counted = read_intent(replace(request, intent=text), language=spoken)
    intent = replace(intent, question_count=counted.question_count)
    asks = read_asks(clean(wishes.text), intent.language, is_poll=request.type == "poll")
    draft = _Draft(request, wishes, intent, asks, language)
    return draft.poll() if request.type == "poll" else draft.survey()


@dataclass
class _Draft:
    """One request on its way to a script."""

    request: ScriptRequest
    wishes: Wishes
    intent: Intent
    asks: Asks
    language: str

    def survey(self) -> ProposedScript:
        """Return a survey or a quiz: the asks, and questions of a template for the rest."""
        if self._is_subject() and best_match(self.intent).word_points:
            self.asks = replace(self.asks, asks=(), rest=self.wishes.text, is_added=False)
        rest = self._rest()
        match = best_match(rest)
        template = match.template
        is_quiz = any(ask.format.right is not None for ask in self.asks.asks)
        if is_quiz:
            template = library.require(library.TOPIC_QUIZ)
        is_scored = template.scoring_enabled if self.request.scoring is None else self.request.scoring
        is_form = self._is_form_sure(match) or bool(FORM.search(self.asks.rest)) or self._asks_for_facts()
        is_conditional = bool(self.asks.asks) and all(ask.condition for ask in self.asks.asks)
        first_last = template.blocks[::-1] if is_conditional else ()
        composed = compose(
            [ask for ask in self.asks.asks if ask.text or ask.format.is_scale],
            self.language,
            spoken=self.intent.language,
            is_form=is_form,
            scale=self.asks.scale,
            is_scored=is_scored,
            # The condition of all asks means the first scale of the template.
            before=template.blocks if template.id in library.STANDARD else first_last,
            is_about_leaving=bool(_LEAVING.search(self.request.intent)),
            is_agreed=bool(AGREEMENT.search(self.request.intent)),
            is_judged=bool(FEEDBACK.search(self.request.intent)),
            no_open_text=self.wishes.no_open_text,
        )
        # The questions of a standard belong together, so all of them remain.
        if template.id in library.STANDARD:
            composed = replace(
                composed,
                blocks=[each for each in composed.blocks if not _is_standard(each, template)],
                known=set(),
            )
        count = self.intent.question_count
        is_wanted = self._is_wanted
        adds = (
            self.asks.is_added
            or is_conditional
            or (len(composed.blocks) == 1 and match.word_points >= KEY_PHRASE)
        )
        understood: list[str] = []
        if not composed.blocks or template.id in library.STANDARD or (adds and not is_quiz):
            understood += _said_of(replace(match, template=template))
            is_standard = template.id in library.STANDARD
            is_resized = template.scoring_enabled or template.result_of
            raw = adapted_blocks(
                template,
                rest if is_resized and not is_standard else replace(rest, question_count=None),
                self.request,
            )
            unwanted = {
                block["name"]
                for block in raw
                if not is_wanted(block, is_standard)
                or _is_covered(block, composed)
                or (self.wishes.nothing_else and block["type"] == "open_text" and not block.get("show_when"))
            }
            raw = without_blocks(raw, unwanted)
            if count and not (is_resized or is_standard):
                wanted = max(
                    count.nearest(_question_count(raw) + len(composed.blocks)) - len(composed.blocks), 0
                )
                raw = resize(raw, wanted, template, placeholder=None, is_wanted=is_wanted)
            blocks = self._written(raw, template, rest, is_scored=is_scored)
            place = position_for_more(blocks)
            blocks = [*blocks[:place], *with_names_beside(composed.blocks, blocks), *blocks[place:]]
        else:
            understood.append(_taken(composed))
            blocks = self._around(
                composed, template, rest, is_quiz=is_quiz, is_form=is_form, is_scored=is_scored
            )
        blocks = self._with_open_end(
            _with_whole_conditions(blocks, composed.unmet), is_standard=template.id in library.STANDARD
        )
        if self.asks.scale:
            blocks = _on_scale(blocks, self.asks.scale)
        understood += [f"There are no questions about {what}." for what in composed.not_asked]
        unmet = composed.unmet + self._unmet_count(blocks)
        used = [*unmet, *composed.words, *composed.not_asked]
        of_template = [*match.words, *match.template.keywords]
        if any(line.startswith("Template:") for line in understood):
            used += of_template
        if any("agree" in (block.get("name") or "") for block in composed.blocks):
            used += AGREEMENT.findall(self.request.intent)
        left = self._leftovers(blocks, used, naming=of_template)
        unmet += _not_used(left)
        made, not_made = len(composed.blocks), len(composed.unmet)
        most = 1.0 if left.covered == 1.0 and not unmet else 0.95
        if not composed.blocks and left.covered < _COVERED:
            most = _LITTLE
        is_made = made > 1 or (made and left.covered > _MOSTLY)
        confidence = max(match.confidence, 0.9 * made / (made + not_made) if is_made else 0.0)
        return self._finished(
            blocks,
            is_scored=is_scored,
            understood=understood,
            unmet=unmet,
            confidence=min(confidence * (left.share if left.share < _MOSTLY else 1.0), most),
        )

    def _leftovers(
        self, blocks: list[MutableBlock], used: Iterable[str], naming: Iterable[str] = ()
    ) -> Leftovers:
        """Return the parts of the intent that neither a block nor a sentence about the draft has."""
        options = (option["value"] for block in blocks for option in block.get("options", ()))
        prompts = (block.get("prompt") or "" for block in blocks)
        labels = (str(label) for block in blocks for label in block.get("scale", {}).values())
        told = [*self.asks.orders, *self.asks.told]
        text = SEVERAL.sub("", without_settings(clean(self.wishes.text)))
        if self.language != self.intent.language:
            return Leftovers((), 1.0)
        if self.language != languages.ENGLISH:
            text = languages.with_english_count(text, self.language)
        text = counts.without_question_count(text)
        return leftovers(
            text,
            self.language,
            [*prompts, *options, *labels, *used, *told],
            naming=naming,
            has_conditions=any(block.get("show_when") for block in blocks),
        )

    def _is_subject(self) -> bool:
        """Return whether the intent begins with its only question, which then names the subject of the
        survey.
        """
        asks = self.asks.asks
        is_one = len(asks) == 1 and asks[0].is_question and asks[0].format == Format()
        return is_one and self.wishes.text.lstrip().startswith(asks[0].text[:20])

    def _is_form_sure(self, match: TemplateMatch) -> bool:
        """Return whether the intent names a form clearly enough: in English by a key phrase, else by a
        keyword.
        """
        least = KEY_PHRASE if self.intent.language == languages.ENGLISH else KEYWORD
        return match.template.id in library.FORMS and match.word_points >= least

    def _asks_for_facts(self) -> bool:
        """Return whether people are asked for facts about themselves, not for opinions."""
        if FEEDBACK.search(self.wishes.text):
            return False
        return any(is_fact(ask.text, self.intent.language) for ask in self.asks.asks if ask.text)

    def _rest(self) -> Intent:
        """Return the intent without its asks, for choosing the template; the whole intent if the rest has no
        subject.
        """
        has_own_options = any(ask.format.options for ask in self.asks.asks)
        text = self.asks.rest or ("" if len(self.asks.asks) > 1 or has_own_options else self.wishes.text)
        rest = replace(
            read_intent(replace(self.request, intent=text), language=self.intent.language),
            question_count=self.intent.question_count,
            option_count=self.intent.option_count,
            listed_options=self.intent.listed_options,
        )
        if self.intent.language == languages.ENGLISH:
            return rest
        return replace(rest, topics=languages.topics_in(clean(text), self.intent.language))

    def _around(
        self,
        composed: Composed,
        template: Template,
        rest: Intent,
        *,
        is_quiz: bool,
        is_form: bool,
        is_scored: bool,
    ) -> list[MutableBlock]:
        """Return the asks with a greeting. Questions of the template are added if the intent wants more
        questions.
        """
        own = self._written([dict(block) for block in template.blocks], template, rest, is_scored=is_scored)
        if is_quiz:
            place = next((n for n, block in enumerate(own) if block["name"].startswith("question_")), 1)
            frame = [block for block in own if not block["name"].startswith("question_")]
            return [*frame[:place], *with_names_beside(composed.blocks, frame), *frame[place:]]
        greeting = own[0] if is_form and template.id in library.FORMS else {
            "name": "welcome",
            "type": "content_block",
            "section": "intro",
            "prompt": text_in(FORM_WELCOME if is_form else WELCOME, self.language),
            "continue": {"after": "click", "label": text_in("Let's go", self.language)},
        }  # fmt: skip
        blocks, closing = list(composed.blocks), bank.blocks()["anything_else"]
        if (
            is_form
            and template.id == library.RSVP
            and not composed.known & {"coming"}
            and not _asks_who_comes(blocks)
        ):
            blocks = [_named(own, "coming"), *with_names_beside(blocks, [{"name": "coming"}])]
        if self.intent.question_count:
            if not rest.topics:
                rest = replace(rest, topics=self.intent.topics)
                own = self._written(
                    [dict(block) for block in template.blocks], template, rest, is_scored=is_scored
                )
            wanted = self.intent.question_count.nearest(len(blocks)) - len(blocks)
            has_scale = any(block["type"] in SCALES for block in blocks)
            further = [
                block
                for block in own[1:]
                if block["type"] in QUESTIONS and not block.get("show_when") and self._is_wanted(block)
                and not _is_covered(block, composed) and not (has_scale and block["name"] == "overall")
            ]  # fmt: skip
            blocks += with_names_beside(further[: max(wanted, 0)], blocks)
        elif len(blocks) == 1 and not (is_form or self.wishes.nothing_else) and self._is_wanted(closing):
            blocks += with_names_beside([in_language(closing, self.language)], blocks)
        return [greeting, *blocks]

    def _is_wanted(self, block: RawBlock, is_standard: bool = False) -> bool:
        """Return whether the prohibitions of the intent allow a question of the library."""
        is_one = self._wants_one_open and not is_standard
        if block["type"] == "open_text" and (self.wishes.no_open_text or is_one):
            return False
        return not any(asks_about(what, block) for what in self.wishes.not_asked)

    @property
    def _wants_one_open(self) -> bool:
        text, _, _ = additions(self.wishes.text, self.intent.language)
        return not self.asks.wants_open and wants_one_open_question(text)

    def _with_open_end(self, blocks: list[MutableBlock], *, is_standard: bool) -> list[MutableBlock]:
        """Return the blocks. If the intent wants an open question besides the others, add that question."""
        last = in_language(bank.blocks()["anything_else"], self.language)
        is_there = any(block.get("prompt") == last["prompt"] for block in blocks)
        if not (self._wants_one_open or self.asks.wants_open) or self.wishes.no_open_text or is_there:
            return blocks
        is_cut = self.intent.question_count and not (self.asks.wants_open or self.asks.asks or is_standard)
        if is_cut:
            questions = [n for n, block in enumerate(blocks) if block["type"] in QUESTIONS]
            blocks = blocks[: questions[-1]] if questions else blocks
        return [*blocks, *with_names_beside([last], blocks)]

    def _unmet_count(self, blocks: list[MutableBlock]) -> list[str]:
        count, asked = self.intent.question_count, _question_count(blocks)
        if count is None or count.low <= asked <= count.high or self.request.type == "poll":
            return []
        return [f"The draft has {asked} questions, and you asked for another number."]

    def _written(
        self, blocks: list[MutableBlock], template: Template, intent: Intent, *, is_scored: bool
    ) -> list[MutableBlock]:
        if self.language == languages.ENGLISH:
            topic = topic_for(intent, template) if self.intent.language == languages.ENGLISH else None
            blocks = [with_topic(block, topic, template) for block in blocks]
            return blocks if is_scored else scoring.without_points(blocks)
        translatable = intent.topics if self.intent.language == self.language else ()
        return foreign_blocks(
            blocks, template, next(iter(translatable), None), self.request, self.language, is_scored=is_scored
        )

    # --- Polls ---

    def poll(self) -> ProposedScript:
        """Return a poll: the question of the intent with its options or scale, else the question of a
        template.
        """
        question, options, composed = self._question()
        intent = replace(self.intent, listed_options=options or self.intent.listed_options)
        if question is not None:
            block = {**question, "name": question.get("name") or "choice"}
            # A poll needs a choice, so an open question does not fit.
            is_open = block["type"] in ("open_text", "open_numeric")
            has_template = intent.is_yes_or_no and not options
            if is_open or (has_template and not self.asks.asks[0].format.is_yes_no):
                question = None
        if question is not None:
            left = self._leftovers([block], composed.words, naming=(self.wishes.text,))
            return self._finished(
                [block],
                is_scored=bool(self.request.scoring),
                understood=["The question is taken from your sentence."],
                unmet=[*composed.unmet, *_not_used(left)],
                confidence=0.9,
            )
        match = best_match(intent)
        is_scored = bool(self.request.scoring)
        named = _BEST.search(self.asks.rest or "")
        if named and options and self.language == self.intent.language == languages.ENGLISH:
            intent = replace(intent, question=f"What is {named['owner'] or 'the '}{named['what'].strip()}?")
        blocks = self._written(
            adapted_blocks(match.template, intent, self.request), match.template, intent, is_scored=is_scored
        )
        if intent.question and self.language == self.intent.language:
            blocks = [with_question(block, intent.question, match.template) for block in blocks]
        return self._finished(
            blocks,
            is_scored=is_scored,
            understood=_said_of(match),
            unmet=[] if options else composed.unmet,
            confidence=match.confidence,
        )

    def _question(self) -> tuple[MutableBlock | None, tuple[str, ...], Composed]:
        """Return the question of the intent, the options that the intent lists, and the composed blocks."""
        asks = [ask for ask in self.asks.asks if ask.text]
        options = next((ask.format.options for ask in self.asks.asks if ask.format.options), ())
        first = next((ask for ask in asks if ask.is_question), None) or next(iter(asks), None)
        if first is None:
            return None, options, Composed()
        is_asked = re.match(INTERROGATIVE[self.intent.language], first.text, re.IGNORECASE) is not None
        if first.format.is_yes_no and not is_asked and not first.is_rated:
            return None, options, Composed()
        others = [ask for ask in asks if ask is not first and not ask.is_question]
        is_clause = first.is_question or question_from(first.text, self.intent.language) is not None
        if not options:
            listed = ", ".join(ask.text for ask in (others if is_clause else asks))
            options = split_options(listed, self.intent.language)
        options = tuple(presentable(options, for_chat=self.request.for_chat))
        if not is_clause and not first.is_rated and not first.format.is_yes_no and len(asks) > 1:
            return None, options, Composed()
        scale = next((ask.format for ask in self.asks.asks if ask.format.is_scale), None) or self.asks.scale
        scale = scale or (found[1] if (found := read_scale(self.asks.rest)) else None)
        if len(options) > 1 or first.format.is_yes_no:
            first = with_format(
                first,
                options=options if len(options) > 1 else (),
                low=None,
                high=None,
                at_most=self.wishes.at_most,
                takes_several=bool(SEVERAL.search(self.request.intent)),
            )
        elif scale:
            first = with_format(first, low=scale.low, high=scale.high, has_stars=scale.has_stars)
        if not first.format.options and not scale and not is_clause:
            return None, options, Composed()
        composed = compose([first], self.language, spoken=self.intent.language, is_form=False, scale=scale)
        return (composed.blocks[0] if composed.blocks else None), options, composed

    def _finished(
        self,
        blocks: list[MutableBlock],
        *,
        is_scored: bool,
        understood: list[str],
        unmet: list[str],
        confidence: float,
    ) -> ProposedScript:
        kept, of_wishes, not_met = apply_wishes(blocks, self.wishes, is_composed=len(self.asks.asks) > 1)
        unmet = [*unmet, *not_met, *map(_not_done, self.asks.told)]
        if any(map(_TOLD.match, unmet)):
            confidence = min(confidence, _MOST_WITH_TOLD)
        return ProposedScript(
            kept,
            scoring_enabled=is_scored,
            understood=(*understood, *of_wishes),
            unmet=(*unmet, *(f"Not part of a script: “{order}”." for order in self.asks.orders)),
            confidence=round(confidence, 2),
            wishes=self.wishes.settings,
            is_placeholder=any(
                placeholders.is_marked(text) for block in kept for text in placeholders.texts_of(block)
            ),
        )


_BEST = re.compile(
    r"(?:^|: ?|\bpoll (?:on|about|for) )(?P<owner>the |your |our )?(?P<what>(?:best|favou?rite|ideal|"
    r"preferred|worst|most \w+) [^:.?!]{3,80})$",
    re.IGNORECASE,
)
_LEAVING = re.compile(
    r"\b(?:leav(?:e|es|ing)|left|quit\w*|cancel\w*|resign\w*|exit|(?:ge)?kündig\w*|austr\w+|verlass\w*|départ|"
    r"quitt\w+|résili\w+|"
    r"dejan|se van|baja|salida|saída|saem|cancelam\w*)\b",
    re.IGNORECASE,
)
_COMES = re.compile(
    r"\bcom(?:e|ing)\b|\battend|\bkomm|\bdabei|\bvien|\bvenez|\basist|\bvem\b|\bpresença", re.IGNORECASE
)


def _not_used(left: Leftovers) -> list[str]:
    return [f"Not used: {', '.join(f'“{part}”' for part in left.parts)}."] if left.parts else []


def _not_done(told: str) -> str:
    return f"Not done: “{told}”.{' People rank the items instead.' if POINTS.search(told) else ''}"


def _asks_who_comes(blocks: list[MutableBlock]) -> bool:
    return any(_COMES.search(block["prompt"]) and block["type"] == "single_punch" for block in blocks)


def _named(blocks: list[MutableBlock], name: str) -> MutableBlock:
    return next(block for block in blocks if block["name"] == name)


def _question_count(blocks: Iterable[RawBlock]) -> int:
    return sum(block["type"] in QUESTIONS for block in blocks)


def _taken(composed: Composed) -> str:
    """Return a sentence that names the asks from which the questions were made."""
    named, more = composed.words[:_MOST_NAMED], len(composed.words) - _MOST_NAMED
    ending = f", and {more} more." if more > 0 else "."
    return f"Questions taken from your sentence: {', '.join(named)}{ending}"


def _said_of(match: TemplateMatch) -> list[str]:
    """Return sentences about the chosen template: first a doubt about the choice, if there is one."""
    doubt = [_UNSURE] if match.confidence < MARGIN else []
    return [*doubt, f"Template: {match.template.name}."]


def _is_covered(block: RawBlock, composed: Composed) -> bool:
    """Return whether a question of a template repeats an ask of the intent."""
    if block["type"] not in QUESTIONS:
        return False
    known = [bank.blocks()[name] for name in composed.known]
    is_recommended = block["type"] == "nps" and any(each["type"] == "nps" for each in known)
    return (
        is_recommended
        or block["name"] in composed.known
        or any(asks_the_same(block, each) for each in (*known, *composed.blocks))
    )


def _is_standard(block: MutableBlock, template: Template) -> bool:
    """Return whether a question repeats one of the template's standard questions."""
    about = (block.get("show_when") or {}).get("block")
    asks_why = block["name"].startswith("reason") and about in (
        None,
        *(each["name"] for each in template.blocks),
    )
    types = [each["type"] for each in template.blocks]
    return (
        bool(asks_why and "nps" in types)
        or (block["type"] == "nps" and "nps" in types)
        or any(asks_the_same(block, each) for each in template.blocks)
    )


def _with_whole_conditions(blocks: list[MutableBlock], unmet: list[str]) -> list[MutableBlock]:
    """Return the blocks. A question whose condition refers to no earlier block is left out, and reported in
    `unmet`.
    """
    names, kept = set[str](), []
    for block in blocks:
        if (about := (block.get("show_when") or {}).get("block")) and about not in names:
            unmet.append(f"Not asked: “{block['prompt']}”.")
            continue
        names.add(block["name"])
        kept.append(block)
    return kept


def _on_scale(blocks: list[MutableBlock], scale: Format) -> list[MutableBlock]:
    """Return the blocks with every scale replaced by the scale of the intent, and conditions
    adapted to it.
    """
    highs = {
        block["name"]: block.get("max", 5) for block in blocks if block["type"] in ("rating", "opinion_scale")
    }
    result = []
    for block in blocks:
        if block["name"] in highs:
            labels = {key: text for key, text in block.get("scale", {}).items() if key != "label_center"}
            block = {**block, "min": 1 if block["type"] == "rating" else scale.low or 1, "max": scale.high}
            block = block | ({"scale": labels} if labels else {})
        condition = block.get("show_when") or {}
        if condition.get("block") in highs and isinstance(condition.get("value"), int):
            value = round(condition["value"] * (scale.high or 5) / highs[condition["block"]])
            block = {**block, "show_when": {**condition, "value": value}}
        result.append(block)
    return result
