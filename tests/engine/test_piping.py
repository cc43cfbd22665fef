"""Tokens in prompts are found, filled in and renamed (rules 4.27, 4.28 and 4.31)."""

from __future__ import annotations

from surveys.engine.language.piping import fill, rename, token_form, tokens
from tests.support.cases import try_each


@try_each(
    ("text", "expected"),
    [
        ("", ()),
        ("Hello [UserName], you chose [Fav game].", ("UserName", "Fav game")),
        ("[q1][Q1][a-b_c 2]", ("q1", "Q1", "a-b_c 2")),
        ("[ spaced  ]", ("spaced",)),
        ("[größe] [नाम]", ("größe", "नाम")),
        ("[[nested]]", ("nested",)),
        ("[] [1] [_a] [a.b] [a\nb] [a", ()),
        ("[open [Name] close]", ("Name",)),
        ("[UserName|there] [field.source | no |one] [a|] [|b] [1|c]", ("UserName", "field.source", "a")),
    ],
)
def test_names_in_brackets_are_tokens(text: str, expected: tuple[str, ...]) -> None:
    assert tokens(text) == expected


@try_each(
    ("text", "expected"),
    [
        ("Hi [Name]!", "Hi Ann & [Game]!"),
        ("[Name][Name]", "Ann & [Game]Ann & [Game]"),
        ("[ Name ] [Unknown] [ Unknown ]", "Ann & [Game] [Unknown] [ Unknown ]"),
        ("[Game]|[Empty]|", "<b>chess</b>||"),
        (r"[Back] \g<0>", r"\1\n \g<0>"),
        ("[[Game]]", "[<b>chess</b>]"),
        ("Hi [Name|there], [Empty|you] | [ Empty | so-and-so ]!", "Hi Ann & [Game], you | so-and-so!"),
        ("[Empty|][Unknown|nobody]", "[Unknown|nobody]"),
        ("nothing", "nothing"),
    ],
)
def test_tokens_are_filled_once_as_text(text: str, expected: str) -> None:
    known = {"Name": "Ann & [Game]", "Game": "<b>chess</b>", "Empty": "", "Back": r"\1\n"}

    assert fill(text, known.get) == expected


@try_each(
    ("text", "expected"),
    [
        ("Thanks [Name]!", "Thanks!"),
        ("Thanks, [Name]! Bye, [Name].", "Thanks! Bye."),
        ("Hi [Name], welcome.", "Hi, welcome."),
        ("[Name], how are you?", "How are you?"),
        ("Dear [Name]\nHow are you?", "Dear\nHow are you?"),
        ("Merci [Name] !", "Merci !"),
        ("You and [Name] (the [Name] friend)", "You and (the friend)"),
        ("[Name]", ""),
        ("[Name|Ann], [Known]!", "Ann, known!"),
    ],
)
def test_an_empty_value_leaves_no_gap(text: str, expected: str) -> None:
    """Rule 4.35."""
    values = {"Name": "", "Known": "known"}

    assert fill(text, values.get, escape=str) == expected
    assert fill("Thanks [Name]!", values.get) == "Thanks !"  # as programs get it


@try_each(
    ("text", "expected"),
    [
        ("[FAV GAME], [Fav_Game], [ fav-game ]", "[Best one], [Best one], [Best one]"),
        ("Fav game [Fav games]", "Fav game [Fav games]"),
        ("[q1] [Q1]", "[q1] [Q7]"),
        ("[answer] [Answer]", "[answer] [Reply]"),
        ("[score_a] [UserName] [xp_points] [username]", "[score_a] [UserName] [xp_points] [username]"),
        ("[To_Variable] [To_Position]", "[Score] [Q1]"),
        ("[fav game|none of them] [UserName|there]", "[Best one|none of them] [UserName|there]"),
    ],
)
def test_a_rename_rewrites_tokens_of_blocks_alone(text: str, expected: str) -> None:
    renames = {
        "Fav_Game": "Best one",
        "Q1": "Q7",
        "Answer": "Reply",
        "Score_A": "Wrong",
        "Username": "Wrong",
        "Xp_Points": "Wrong",
        "To_Variable": "score",
        "To_Position": "q1",
    }

    assert rename(text, renames) == expected


def test_without_the_variable_a_block_of_its_name_is_renamed() -> None:
    assert rename("[score]", {"Score": "Points"}, variables={"answer"}) == "[Points]"


def test_a_name_that_would_be_a_variable_is_put_in_title_case() -> None:
    written = [token_form(name) for name in ("Fav game ", "score", "q1", "UserName", "xp_name", "And")]

    assert written == ["Fav game", "Score", "Q1", "Username", "Xp_Name", "And"]
