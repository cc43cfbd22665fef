"""The end of a script, which the service makes of the community's words and the project's rewards.

Rules 3.27 to 3.29.
"""

import pytest

from communities.models import CommunitySettings
from tests.support.caller import CHOICE, SAYING, TEXT, Caller, faults, refusal
from xp.services import achievements

pytestmark = pytest.mark.django_db

PICTURE = "https://example.com/badge.png"
ALL = {"use_xp": True, "achievement_enabled": True, "discord_role_id": "77"}


def path_of(made):
    return f"/projects/{made['id']}/script"


def outro_of(caller, made):
    blocks = caller.get(f"{path_of(made)}?expand=outro").json()["blocks"]
    return {block["name"]: block for block in blocks if block["section"] == "outro"}


def revision_of(caller, made):
    return caller.get(path_of(made)).json()["revision"]


def reward(caller, made, **rewards):
    answer = caller.patch(f"/projects/{made['id']}", {"rewards": rewards})
    assert answer.status_code == 200, answer.content
    return answer.json()["rewards"]


# --- Its blocks ---------------------------------------------------------------------------------------


def test_rewards_have_a_block_each_in_their_order():
    caller = Caller()
    made = caller.make(CHOICE, SAYING, TEXT, rewards=ALL)

    outro = outro_of(caller, made)

    assert list(outro) == ["thank_you", "xp", "achievement", "role"]
    assert [block["position"] for block in outro.values()] == [3, 4, 5, 6]
    assert {block["type"] for name, block in outro.items() if name != "thank_you"} == {"action_block"}
    nothing = dict.fromkeys(("xp_amount", "source_key", "xp_role_id", "role_id"))
    once = nothing | {"fire_scope": "respondent"}
    assert {name: (block["action_kind"], block["action_config"]) for name, block in outro.items()} == {
        "thank_you": (None, None),
        "xp": ("give_xp", once | {"xp_amount": 20}),
        "achievement": ("give_achievement", once | {"xp_role_id": 1}),
        "role": ("give_role", once | {"role_id": "77"}),
    }
    assert outro["xp"]["prompt"] == "You have earned [xp_points] [xp_name]."
    assert "Completed: Opening moves" in outro["achievement"]["prompt"]
    assert made["info"]["block_count"] == 3


def test_a_poll_gives_its_xp_with_the_vote():
    caller = Caller()
    made = caller.make(CHOICE, type="poll", rewards=ALL)

    assert list(outro_of(caller, made)) == ["thank_you", "achievement", "role"]


@pytest.mark.parametrize(
    ("type_", "kind", "words"),
    [
        ("convo", None, "Thank you! Your answers have been saved."),
        ("poll", "default", "Thank you! Your vote has been counted."),
        ("convo", "form_standard", "Your response has been recorded."),
        ("poll", "form_standard", "Your vote has been recorded."),
        ("convo", "custom", "Cheers!"),
    ],
)
def test_thanks_are_in_the_communitys_words_of_that_time(type_, kind, words):
    caller = Caller(thank_you_type=kind, thank_you_custom_message="Cheers!")
    made = caller.make(CHOICE, type=type_)

    CommunitySettings.objects.update(thank_you_type="custom", thank_you_custom_message="Bye!")
    caller.put(path_of(made), {"blocks": [CHOICE]})
    reward(caller, made, discord_role_id="77")

    assert outro_of(caller, made)["thank_you"]["prompt"] == words


CUSTOM = {"thank_you_type": "custom", "thank_you_custom_message": "Cheers!", "thank_you_custom_label": "Home"}


def test_changed_thanks_reach_projects_that_have_no_thanks_of_their_own():
    """Rule 1.56."""
    caller = Caller()
    usual, own, poll = caller.make(TEXT), caller.make(TEXT), caller.make(CHOICE, type="poll")
    block_id = outro_of(caller, own)["thank_you"]["id"]
    caller.patch(f"{path_of(own)}/blocks/{block_id}", {"prompt": "Our own thanks."})
    elsewhere = Caller()
    foreign = elsewhere.make(TEXT)
    calls = []

    for change in (CUSTOM, {"thank_you_custom_message": "Bye!"}, {"thank_you_type": "form_standard"}):
        assert caller.patch("/settings", change).status_code == 200
        calls.append([outro_of(caller, each)["thank_you"] for each in (usual, own, poll)])

    assert [[each["prompt"] for each in thanks] for thanks in calls] == [
        ["Cheers!", "Our own thanks.", "Cheers!"],
        ["Bye!", "Our own thanks.", "Bye!"],
        ["Your response has been recorded.", "Our own thanks.", "Your vote has been recorded."],
    ]
    assert [[each["continue"] and each["continue"]["label"] for each in thanks] for thanks in calls] == [
        ["Home", None, "Home"],
        ["Home", None, "Home"],
        [None, None, None],
    ]
    assert outro_of(elsewhere, foreign)["thank_you"]["prompt"] == "Thank you! Your answers have been saved."
    assert [revision_of(caller, each) for each in (usual, own)] == [4, 2]


def test_other_settings_write_no_script():
    caller = Caller()
    made = caller.make(TEXT)

    caller.patch("/settings", {"xp_per_question": 3, "thank_you_custom_message": "Not in use."})

    assert revision_of(caller, made) == 1


def test_thanks_whose_link_names_a_visitor_are_not_those_of_anonymous_projects():
    """Rule 6.193."""
    link = "[Go](https://shop.example/?who=[UserName])"
    caller = Caller(thank_you_type="custom", thank_you_custom_message=link)

    thanks = outro_of(caller, caller.make(TEXT, privacy_mode="anonymous"))["thank_you"]

    assert thanks["prompt"] == "Thank you! Your answers have been saved."


# --- XP -----------------------------------------------------------------------------------------------


def test_the_xp_told_follow_the_community_and_the_questions():
    caller = Caller(xp_per_question=3)
    made = caller.make(CHOICE, TEXT, rewards={"use_xp": True})

    def amount():
        return outro_of(caller, made)["xp"]["action_config"]["xp_amount"]

    told = [amount()]
    for change in ({"xp_per_question": 7}, {"xp_per_question": None}, {"use_xp": False}, {"use_xp": None}):
        assert caller.patch("/settings", change).status_code == 200
        told.append(amount())
    caller.put(path_of(made), {"blocks": [TEXT]})
    told.append(amount())

    assert told == [6, 14, 20, 0, 20, 10]


def test_an_amount_can_be_sent_back_however_large_it_is():
    caller = Caller(xp_per_question=2**31 - 1)
    made = caller.make(TEXT, TEXT, rewards={"use_xp": True})
    read = caller.get(f"{path_of(made)}?expand=outro").json()

    assert caller.put(path_of(made), read).status_code == 200


def test_reading_the_outro_asks_for_the_settings_alone(django_assert_max_num_queries):
    caller = Caller()
    grant = {"action_kind": "give_achievement", "action_config": {"xp_role_id": 3}}
    made = caller.make(TEXT, SAYING | {"type": "action_block"} | grant, rewards=ALL)
    caller.get("/projects")

    with django_assert_max_num_queries(4):
        assert caller.get(f"{path_of(made)}?expand=outro").status_code == 200


# --- Changing rewards -----------------------------------------------------------------------------------


@pytest.mark.parametrize("is_active", [False, True])
def test_the_outro_follows_the_rewards_also_while_active(is_active):
    caller = Caller()
    made = caller.make_open(TEXT) if is_active else caller.make(TEXT)
    told = []

    for rewards in ({"use_xp": True}, {"discord_role_id": "77"}, {"use_xp": None}, {"discord_role_id": None}):
        reward(caller, made, **rewards)
        told.append((list(outro_of(caller, made)), revision_of(caller, made)))

    assert told == [
        (["thank_you", "xp"], 2),
        (["thank_you", "xp", "role"], 3),
        (["thank_you", "role"], 4),
        (["thank_you"], 5),
    ]


def test_rewards_that_say_the_same_write_nothing():
    caller = Caller()
    made = caller.make(TEXT, rewards=ALL)

    caller.put(f"/projects/{made['id']}", caller.get(f"/projects/{made['id']}").json())

    assert revision_of(caller, made) == 1


def test_blocks_that_stay_keep_their_id_and_what_was_edited():
    caller = Caller()
    made = caller.make(TEXT, rewards=ALL)
    before = outro_of(caller, made)
    edit = {"prompt": "A badge for you!", "image_url": PICTURE}
    caller.patch(f"{path_of(made)}/blocks/{before['achievement']['id']}", edit)

    reward(caller, made, achievement_name="Champion", use_xp=False, discord_role_id="78")
    after = outro_of(caller, made)

    assert list(after) == ["thank_you", "achievement", "role"]
    for name, block in after.items():
        assert block["id"] == before[name]["id"]
    assert {key: after["achievement"][key] for key in edit} == edit
    assert after["role"]["action_config"]["role_id"] == "78"


def test_words_that_were_not_edited_follow_the_name_and_picture():
    caller = Caller()
    made = caller.make(TEXT, rewards={"achievement_enabled": True, "achievement_name": "Champion"})

    reward(caller, made, achievement_name="Grandmaster", achievement_image_url=PICTURE)
    block = outro_of(caller, made)["achievement"]

    assert block["prompt"] == "You have earned the achievement “Grandmaster”."
    assert block["image_url"] == PICTURE


def test_scoring_and_rewards_changed_at_once_are_one_revision():
    caller = Caller()
    made = caller.make(TEXT)

    caller.patch(f"/projects/{made['id']}", {"scoring_enabled": True, "rewards": ALL})

    assert revision_of(caller, made) == 2
    assert list(outro_of(caller, made)) == ["thank_you", "xp", "achievement", "role"]


# --- Written by callers ---------------------------------------------------------------------------------


@pytest.mark.parametrize("by", ["put script", "put block", "patch block"])
@pytest.mark.parametrize("name", ["xp", "achievement", "role"])
def test_presentation_can_be_edited_and_what_is_given_cannot(name, by):
    caller = Caller()
    made = caller.make(TEXT, rewards=ALL)
    block = outro_of(caller, made)[name]
    presentation = {
        "prompt": "Well done!",
        "image_url": PICTURE,
        "thumbnail_url": PICTURE,
        "continue": {"after": "pause", "pause": 4, "label": None},
    }
    other: dict[str, object] = {"xp_amount": 9_000, "source_key": None, "xp_role_id": None, "role_id": None}
    other |= {"fire_scope": "session"}
    sent = block | presentation | {"action_config": other, "action_kind": "give_xp", "name": "mine"}

    if by == "put script":
        answer = caller.put(path_of(made), {"blocks": [*made["script"]["blocks"], sent]})
    else:
        answer = caller.call(by.split()[0], f"{path_of(made)}/blocks/{block['id']}", sent)

    assert answer.status_code == 200, answer.content
    assert outro_of(caller, made)[name] == block | presentation
    if by != "put script":
        assert answer.json() == block | presentation


def test_what_was_read_with_the_outro_can_be_sent_back():
    caller = Caller()
    made = caller.make(TEXT, rewards=ALL)
    read = caller.get(f"{path_of(made)}?expand=outro").json()

    answer = caller.put(path_of(made), read)

    assert (answer.status_code, answer.json()["revision"]) == (200, 1)
    assert "X-Ignored-Fields" not in answer.headers


def test_an_outro_block_of_ones_own_is_refused():
    caller = Caller()
    made = caller.make(TEXT, rewards=ALL)
    mine = {
        "type": "action_block",
        "section": "outro",
        "name": "xp",
        "prompt": "More!",
        "action_kind": "give_xp",
        "action_config": {"xp_amount": 9_000},
    }

    answer = caller.put(path_of(made), {"blocks": [TEXT, mine]})

    assert refusal(answer) == (400, "invalid_request")
    assert answer.json()["message"] == "section='outro' requires id for update"
    assert faults(caller.put(path_of(made), {"blocks": [TEXT, mine | {"id": 1}]})) == {
        ("blocks[1].id", "not_found")
    }


# --- The achievement ------------------------------------------------------------------------------------


def test_an_achievement_without_a_number_takes_the_communitys_next():
    caller = Caller()

    first, second = (caller.make(TEXT, rewards={"achievement_enabled": True}) for _ in range(2))
    elsewhere = Caller().make(TEXT, rewards={"achievement_enabled": True})
    described = achievements.by_number(community_id=caller.community.pk, numbers=[1, 2])

    assert [made["rewards"]["achievement_id"] for made in (first, second, elsewhere)] == ["1", "2", "1"]
    assert {each.name for each in described.values()} == {"Completed: Opening moves"}


def test_an_achievement_is_numbered_when_it_is_switched_on():
    caller = Caller()
    made = caller.make(TEXT, rewards={"achievement_name": "Champion", "achievement_image_url": PICTURE})

    on = reward(caller, made, achievement_enabled=True)
    (described,) = achievements.by_number(community_id=caller.community.pk, numbers=[1]).values()

    assert made["rewards"]["achievement_id"] is None
    assert on["achievement_id"] == "1"
    assert (described.name, described.image_url) == ("Champion", PICTURE)
    assert outro_of(caller, made)["achievement"]["image_url"] == PICTURE


def test_an_achievement_keeps_its_number():
    caller = Caller()
    made = caller.make(TEXT, rewards={"achievement_enabled": True})

    for change in (
        {"achievement_id": None, "achievement_enabled": True},
        {"achievement_enabled": False},
        {"achievement_enabled": True},
    ):
        assert reward(caller, made, **change)["achievement_id"] == "1"


def test_an_achievement_that_is_described_already_is_named_so():
    caller = Caller()
    achievements.define(community_id=caller.community.pk, number=8, name="Champion", image_url=PICTURE)
    rewards = {"achievement_enabled": True, "achievement_id": "8"}

    block = outro_of(caller, caller.make(TEXT, rewards=rewards))["achievement"]

    assert block["action_config"]["xp_role_id"] == 8
    assert "“Champion”" in block["prompt"]
    assert block["image_url"] == PICTURE


def test_a_number_that_nobody_described_is_described_by_the_project():
    caller = Caller()
    rewards = {"achievement_enabled": True, "achievement_id": "8", "achievement_role_id": "5"}

    caller.make(TEXT, rewards=rewards)
    (described,) = achievements.by_number(community_id=caller.community.pk, numbers=[8]).values()

    assert (described.name, described.role_id) == ("Completed: Opening moves", "5")


def test_a_refused_project_leaves_no_achievement():
    caller = Caller()
    fields = {"name": "N", "type": "convo", "rewards": {"achievement_enabled": True}}

    caller.post("/projects", fields | {"script": {"blocks": [{"type": "sonnet"}]}})

    assert achievements.by_number(community_id=caller.community.pk, numbers=range(1, 9)) == {}


# --- Clones ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("elsewhere", [False, True])
def test_a_clone_has_the_thanks_and_no_rewards(elsewhere):
    owner = Caller()
    made = owner.make(TEXT, rewards=ALL)
    thanks = outro_of(owner, made)["thank_you"]
    owner.patch(f"{path_of(made)}/blocks/{thanks['id']}", {"prompt": "Bye, friend."})
    on_web = {"audience": {"participation": "open_web"}}
    owner.post(f"/projects/{made['id']}/open", {"delivery": on_web})
    cloner = Caller() if elsewhere else owner

    copy = cloner.post(f"/projects/{made['id']}/clone").json()
    outro = outro_of(cloner, copy)

    assert copy["rewards"] is None
    assert list(outro) == ["thank_you"]
    assert outro["thank_you"]["prompt"] == "Bye, friend."
