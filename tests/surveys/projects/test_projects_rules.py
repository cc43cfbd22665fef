import pytest

from tests.support.caller import CHOICE, TEXT, Caller, faults, refusal
from tests.support.surveys.project_fields import DELIVERY, INVITATION

pytestmark = pytest.mark.django_db

# --- Premium ----------------------------------------------------------------------------------------

PREMIUM = ["border_color_closed", "footer", "answer_button_label", "answer_button_color"]


@pytest.mark.parametrize("key", PREMIUM)
def test_premium_fields_need_the_premium_tier(key):
    basic, premium = Caller(tier="basic"), Caller(tier="premium")
    sent = {"delivery": {"invitation": {key: INVITATION[key]}}}

    refused = basic.patch(f"/projects/{basic.make()['id']}", sent)
    on_create = basic.post("/projects", {"name": "N", "type": "convo", **sent})
    taken = premium.patch(f"/projects/{premium.make()['id']}", sent)

    assert refusal(refused) == refusal(on_create) == (403, "tier_required")
    assert faults(refused) == {(f"delivery.invitation.{key}", "not_allowed")}
    assert taken.json()["delivery"]["invitation"][key] == INVITATION[key]


def test_premium_fields_read_back_after_a_downgrade_pass():
    caller = Caller(tier="premium")
    made = caller.make(delivery=DELIVERY)
    caller.community.tier = "basic"
    caller.community.save()
    later = caller.beside("admin")

    same = later.put(f"/projects/{made['id']}", {"delivery": DELIVERY})
    cleared = later.put(f"/projects/{made['id']}", {"delivery": {"invitation": {"footer": None}}})
    changed = later.put(f"/projects/{made['id']}", {"delivery": {"invitation": {"footer": "Other"}}})

    assert (same.status_code, cleared.status_code) == (200, 200)
    assert refusal(changed) == (403, "tier_required")


# --- Scoring ----------------------------------------------------------------------------------------


def scored(**scores):
    return {
        "type": "single_punch",
        "prompt": "?",
        "options": [{"value": "a", "score_values": scores}, {"value": "b"}],
    }


@pytest.mark.parametrize("sent", [{"scoring_enabled": True}, {"scoring": {"enabled": True}}])
def test_scoring_is_switched_on_in_both_places(sent):
    caller = Caller()
    made = caller.make(TEXT)

    assert caller.put(f"/projects/{made['id']}", sent).json()["scoring"]["enabled"] is True


@pytest.mark.parametrize("blocks", [(), (TEXT,)])
def test_until_a_script_is_written_there_are_no_buckets(blocks):
    caller = Caller()
    made = caller.make(*blocks)

    on = caller.patch(f"/projects/{made['id']}", {"scoring_enabled": True})

    assert on.json()["scoring"] == {"enabled": True, "buckets": []}


@pytest.mark.parametrize(("scores", "name"), [({"dark_mage": 1}, "Dark Mage"), ({}, "Score")])
def test_where_the_buckets_are_emptied_the_script_makes_its_own_again(scores, name):
    caller = Caller()
    made = caller.make(scored(**scores), scoring_enabled=True)

    emptied = caller.patch(f"/projects/{made['id']}", {"scoring": {"buckets": []}})

    assert emptied.json()["scoring"]["buckets"] == [{"name": name, "order": 0}]


def test_a_bucket_that_nothing_uses_goes_when_the_buckets_are_emptied():
    caller = Caller()
    made = caller.make(
        scored(mage=1), scoring={"enabled": True, "buckets": [{"name": "Mage"}, {"name": "Rogue"}]}
    )

    emptied = caller.patch(f"/projects/{made['id']}", {"scoring": {"buckets": []}})

    assert emptied.json()["scoring"]["buckets"] == [{"name": "Mage", "order": 0}]


def test_scoring_in_both_places_says_the_same():
    caller = Caller()
    made = caller.make()

    answer = caller.put(f"/projects/{made['id']}", {"scoring_enabled": True, "scoring": {"enabled": False}})

    assert faults(answer) == {("scoring.enabled", "conflicting")}


def test_scores_come_back_when_scoring_does():
    caller = Caller()
    made = caller.make(scored(mage=1), scoring_enabled=True)
    path = f"/projects/{made['id']}"

    off = caller.patch(path, {"scoring_enabled": False})
    script = caller.get(f"{path}/script").json()
    unscored = caller.put(f"{path}/script", script)
    back = caller.patch(path, off.json() | {"scoring": {"enabled": True}})

    assert off.json()["scoring"] == {"enabled": False, "buckets": []}
    assert "score_values" not in script["blocks"][0]["options"][0]
    assert unscored.status_code == 200
    assert back.json()["scoring"]["buckets"] == [{"name": "Mage", "order": 0}]
    assert caller.get(f"{path}/script").json()["blocks"][0]["options"][0]["score_values"] == {"mage": 1}


def test_buckets_that_scores_use_cannot_go():
    caller = Caller()
    made = caller.make(scored(mage=1), scoring_enabled=True)

    answer = caller.patch(f"/projects/{made['id']}", {"scoring": {"buckets": [{"name": "Rogue"}]}})

    assert refusal(answer) == (400, "invalid_request")
    assert [field for field, _ in faults(answer)] == ["script.blocks[0].options[0].score_values.mage"]


def test_a_bucket_has_a_name_on_updates_too():
    caller = Caller()
    made = caller.make()

    answer = caller.patch(f"/projects/{made['id']}", {"scoring": {"buckets": [{"order": 1}]}})

    assert faults(answer) == {("scoring.buckets[0].name", "required")}


def test_scoring_that_comes_back_without_its_buckets_is_told_how_to_declare_them():
    caller = Caller()
    xp = {"type": "action_block", "prompt": "Here.", "action_kind": "give_xp"}
    made = caller.make(
        TEXT,
        xp | {"action_config": {"source_key": "score_warm"}},
        scoring={"enabled": True, "buckets": [{"name": "Warm"}]},
    )
    path = f"/projects/{made['id']}"
    caller.patch(path, {"scoring": None})

    refused = caller.patch(path, {"scoring_enabled": True})
    taken = caller.patch(path, {"scoring": {"enabled": True, "buckets": [{"name": "Warm"}]}})

    assert faults(refused) == {("script.blocks[1].action_config.source_key", "unknown_reference")}
    assert "`scoring.buckets`" in refused.json()["message"]
    assert taken.status_code == 200


def test_scoring_cannot_be_switched_off_under_logic_that_uses_it():
    caller = Caller()
    made = caller.make(TEXT, TEXT | {"precondition": "score > 1"}, scoring_enabled=True)

    answer = caller.patch(f"/projects/{made['id']}", {"scoring_enabled": False})

    assert faults(answer) == {("script.blocks[1].precondition", "unknown_reference")}


def test_scoring_cannot_change_while_the_project_is_active():
    caller = Caller()
    made = caller.make_open(TEXT)

    answer = caller.patch(f"/projects/{made['id']}", {"scoring_enabled": True})

    assert refusal(answer) == (409, "conflict")


# --- Chat delivery and roles ------------------------------------------------------------------------


def test_setting_delivery_to_chat_checks_that_the_script_fits():
    """Rule 2.7."""
    caller = Caller()
    made = caller.make(
        {
            "type": "single_punch",
            "prompt": "?",
            "options": [{"value": "v" * 41}, {"value": "b", "label": "♟️♟️"}],
        }
    )

    answer = caller.patch(f"/projects/{made['id']}", {"delivery": {"audience": {"response_channel": "chat"}}})

    assert faults(answer) == {
        ("script.blocks[0].options[0].value", "too_long"),
        ("script.blocks[0].options[1].label", "too_many_emoji"),
    }


def test_a_script_that_fits_can_be_delivered_by_chat():
    caller = Caller()
    made = caller.make(CHOICE)

    answer = caller.patch(f"/projects/{made['id']}", {"delivery": {"audience": {"response_channel": "chat"}}})

    assert answer.json()["delivery"]["audience"]["response_channel"] == "chat"


def test_creators_change_their_own_projects_and_admins_any():
    admin = Caller()
    creator, other, member = (admin.beside(access) for access in ("creator", "creator", "member"))
    made = creator.make()
    path, body = f"/projects/{made['id']}", {"name": "Mine"}

    assert creator.patch(path, body).status_code == 200
    assert admin.patch(path, body).status_code == 200
    assert refusal(other.patch(path, body)) == (403, "forbidden")
    assert refusal(member.patch(path, body)) == (404, "not_found")
    assert refusal(Caller().patch(path, body)) == (404, "not_found")


def test_a_member_may_not_change_what_they_see():
    admin = Caller()
    made = admin.make_open()

    answer = admin.beside("member").patch(f"/projects/{made['id']}", {"name": "Mine"})

    assert refusal(answer) == (403, "forbidden")
