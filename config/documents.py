"""The documents of `config/docs` as pages of `/docs`: Markdown becomes HTML, once for each process."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from django.conf import settings
from django.urls import reverse
from django.utils.text import slugify
from markdown_it import MarkdownIt
from markdown_it.token import Token
from markupsafe import Markup, escape

FOLDER = Path(__file__).resolve().parent / "docs"
EXAMPLE_SITE = "https://surveys.example.org"  # Pages show the address of this site in its place.
MENU: Mapping[str, Sequence[str]] = {
    "Start": ("start",),
    "Guides": (
        "own-pages",
        "keep-a-copy",
        "receive-webhooks",
        "write-a-script",
        "use-logic",
        "choose-a-privacy-mode",
        "use-the-clients",
        "move-to-colloquy",
        "details",
        "connect-an-assistant",
        "embed-a-survey",
    ),
    "Promises": ("versions", "changelog", "glossary", "index"),
    "Rules": (
        "resources",
        "states",
        "scripts",
        "logic",
        "scoring",
        "conversations",
        "privacy",
        "xp",
        "webhooks",
        "ai",
        "errors-and-limits",
        "operation",
    ),
    "For maintainers": ("add-a-block-type", "add-an-export-format", "add-a-page-for-staff"),
}
TRY = Markup("<!-- try -->")  # where a page has the field to try an expression
LANGUAGES = {"sh": "curl", "python": "Python", "ts": "TypeScript"}

_RULE = re.compile(r"\*\*(\d+\.\d+)\*\* ")
_CITED = re.compile(r"\b([Rr]ules?) (\d+)\.(\d+)\b")
_KEYWORDS = {
    "python": "and as case class def else for if import in match not or return while with None True False",
    "ts": "async await const else for function if import let new of return throw try catch null true false",
    "sh": "curl export",
    "json": "null true false",
    "html": "",
}
_TOKENS = {
    language: re.compile(
        r"(?P<comment>(?<!\S)(?:#|//) .*)"
        r"|(?P<text>\"(?:\\.|[^\"\\\n]){0,300}\"|'[^'\n]{0,300}'|`[^`]{0,300}`)"
        rf"|(?P<word>\b(?:{'|'.join(words.split()) or '(?!)'})\b)"
        r"|(?P<number>\b\d+(?:\.\d+)?\b)"
    )
    for language, words in _KEYWORDS.items()
}


@dataclass(frozen=True, slots=True)
class Section:
    """A heading of a document, or a numbered rule, with the text below it."""

    level: int  # of the heading; 0 for a rule
    anchor: str
    title: str
    text: str


@dataclass(frozen=True, slots=True)
class Document:
    """A page made of a Markdown file. `blocks` are the blocks of scripts that the page draws."""

    name: str
    title: str
    summary: str  # its first paragraph
    html: Markup
    sections: Sequence[Section]
    blocks: Sequence[Mapping[str, Any]]

    @property
    def address(self) -> str:
        return address_of(self.name)

    @property
    def headings(self) -> Sequence[Section]:
        """The headings that the page lists beside its text."""
        return [section for section in self.sections if section.level == 2]


def address_of(name: str) -> str:
    """Return the address of the page of a document."""
    return reverse("docs") if name == "start" else reverse("docs-page", args=[name])


@cache
def documents() -> Mapping[str, Document]:
    """Return all documents by name, in the order of the menu."""
    return {name: _read(name) for names in MENU.values() for name in names}


def rendered(text: str) -> Markup:
    """Return a text in Markdown, such as a description of an operation, as HTML."""
    return _html(_parser().parse(text))


def highlighted(code: str, language: str) -> Markup:
    """Return code as HTML in which comments, texts, numbers and keywords are marked."""
    tokens = _TOKENS.get(language)
    if tokens is None:
        return escape(code)
    parts, at = [], 0
    for match in tokens.finditer(code):
        parts += [
            escape(code[at : match.start()]),
            Markup('<i class="{}">{}</i>').format(match.lastgroup, match[0]),
        ]
        at = match.end()
    return Markup("").join([*parts, escape(code[at:])])


def _read(name: str) -> Document:
    text = (FOLDER / f"{name}.md").read_text(encoding="utf-8")
    tokens = _parser().parse(text.replace(EXAMPLE_SITE, settings.BASE_URL))
    _name_headings(tokens)
    blocks = _name_drawings(tokens)
    sections = list(_sections(tokens))
    title = _plain(tokens[1])
    summary = next(_plain(tokens[at + 1]) for at, each in enumerate(tokens) if each.type == "paragraph_open")
    return Document(name, title, summary, _html(tokens), sections, blocks)


@cache
def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False}).enable("table")
    parser.add_render_rule("fence", _fence)
    parser.add_render_rule("text", _text)
    parser.add_render_rule("link_open", _link)
    parser.add_render_rule("heading_open", _heading)
    parser.add_render_rule("heading_close", _heading_end)
    parser.add_render_rule("table_open", _table)
    return parser


def _html(tokens: Sequence[Token]) -> Markup:
    parser = _parser()
    return Markup(parser.renderer.render(_with_samples(tokens), parser.options, {}))


def _with_samples(tokens: Sequence[Token]) -> Sequence[Token]:
    """Return the tokens with one element around the same example in several languages."""
    grouped, run = list[Token](), list[Token]()
    for token in [*tokens, None]:
        is_sample = token is not None and token.type == "fence" and token.info in LANGUAGES
        if run and (not is_sample or any(each.info == token.info for each in run if token)):
            grouped += [_markup('<div class="samples">'), *run, _markup("</div>")] if len(run) > 1 else run
            run = []
        if token is not None:
            (run if is_sample else grouped).append(token)
    return grouped


def _markup(html: str) -> Token:
    return Token("html_block", "", 0, content=html)


def _name_headings(tokens: Sequence[Token]) -> None:
    """Give each heading and each rule an id."""
    taken = set[str]()
    for at, token in enumerate(tokens):
        if token.type == "heading_open" and token.tag != "h1":
            anchor = slug = slugify(_plain(tokens[at + 1])) or "section"
            number = 2
            while anchor in taken:
                anchor, number = f"{slug}-{number}", number + 1
            taken.add(anchor)
            token.attrSet("id", anchor)
        elif token.type == "paragraph_open" and (rule := _RULE.match(tokens[at + 1].content)):
            token.attrSet("id", f"rule-{rule[1]}")
            token.attrSet("class", "rule")
            words = [each for each in tokens[at + 1].children or () if each.content or each.type != "text"]
            words[0] = Token("link_open", "a", 1, attrs={"href": f"#rule-{rule[1]}", "class": "number"})
            words[2] = Token("link_close", "a", -1)
            tokens[at + 1].children = words


def _name_drawings(tokens: Sequence[Token]) -> Sequence[Mapping[str, Any]]:
    """Find the blocks that the page draws: code marked `json drawn`. Each gets the address of its drawing."""
    blocks = []
    for token in tokens:
        if token.type == "fence" and token.info == "json drawn":
            block = json.loads(token.content)
            token.meta["drawn"] = block["name"]
            blocks.append(block)
    return blocks


def _sections(tokens: Sequence[Token]) -> Iterator[Section]:
    level, anchor, title, texts = 1, "", _plain(tokens[1]), list[str]()
    for at, token in enumerate(tokens):
        is_rule = token.type == "paragraph_open" and token.attrGet("class") == "rule"
        if (token.type == "heading_open" and token.tag != "h1") or is_rule:
            yield Section(level, anchor, title, " ".join(texts))
            anchor, texts = str(token.attrGet("id")), []
            level = 0 if is_rule else int(token.tag[1:])
            title = f"Rule {anchor.removeprefix('rule-')}" if is_rule else _plain(tokens[at + 1])
        elif token.type == "inline" and (at == 0 or tokens[at - 1].type != "heading_open"):
            texts.append(_plain(token))
        elif token.type == "fence":
            texts.append(token.content)
    yield Section(level, anchor, title, " ".join(texts))


def _plain(inline: Token) -> str:
    """Return the words of a paragraph or a heading, without those of a rule's number."""
    words = (each.content if each.content else " " for each in inline.children or ())
    kinds = ("text", "code_inline", "softbreak")
    text = "".join(w for w, each in zip(words, inline.children or (), strict=True) if each.type in kinds)
    return re.sub(r"^\d+\.\d+ ", "", text.strip()) if _RULE.match(inline.content) else text


# --- What Markdown's own HTML lacks -------------------------------------------------------------------


def _fence(renderer: Any, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
    token = tokens[at]
    if token.info == "try":
        return TRY
    language = token.info.split(" ")[0]
    code = token.content.rstrip("\n")
    label = LANGUAGES.get(language, language.upper())
    html = Markup('<figure class="code" data-language="{}"><figcaption>{}</figcaption>').format(
        language, label
    )
    html += Markup('<pre tabindex="0"><code>{}</code></pre></figure>').format(highlighted(code, language))
    if drawn := token.meta.get("drawn"):
        html += Markup('<iframe class="drawn" src="{}" title="{}" loading="lazy"></iframe>').format(
            reverse("docs-drawn", args=[drawn]), f"The block {drawn}, as respondents see it"
        )
    return html


def _text(renderer: Any, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
    """A rule's number leads to the rule."""

    def link(cited: re.Match[str]) -> str:
        chapter = address_of(MENU["Rules"][int(cited[2]) - 1])
        return f'<a href="{chapter}#rule-{cited[2]}.{cited[3]}">{cited[0]}</a>'

    text = str(escape(tokens[at].content))
    is_link = at and tokens[at - 1].type == "link_open"
    return text if is_link else _CITED.sub(link, text)


def _link(renderer: Any, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
    """A link to another file leads to its page, and one to this site to the site that is visited."""
    token = tokens[at]
    file, _, anchor = str(token.attrGet("href")).removeprefix(settings.BASE_URL).partition("#")
    address = address_of(file.removesuffix(".md")) if file.endswith(".md") else file
    token.attrSet("href", address + (f"#{anchor}" if anchor else ""))
    return str(renderer.renderToken(tokens, at, options, env))


def _heading(renderer: Any, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
    """A heading leads to itself, so that readers can copy its address."""
    anchor = tokens[at].attrGet("id")
    link = f'<a class="anchor" href="#{anchor}">' if anchor else ""
    return str(renderer.renderToken(tokens, at, options, env)) + link


def _heading_end(renderer: Any, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
    return ("</a>" if tokens[at - 2].attrGet("id") else "") + f"</{tokens[at].tag}>\n"


def _table(renderer: Any, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
    return '<table class="plain">\n'
