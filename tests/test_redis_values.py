"""What is in Redis: JSON, numbers and our own marks. Nothing read from there is unpickled (rule 12.8)."""

from __future__ import annotations

import ast
import pickle
import pickletools
from collections.abc import Iterator
from typing import Any

import orjson
import pytest
from celery import current_app
from django.conf import settings
from django.core.cache import cache, caches
from django.test import Client
from kombu.exceptions import ContentDisallowed
from kombu.serialization import dumps, loads

from config import metrics
from surveys.services.previews import memory
from tests.support import our_code
from tests.support.caller import CHOICE, Caller
from tests.support.staff import Staff

pytestmark = pytest.mark.django_db
UNPICKLED: list[str] = []


class Bomb:
    """Notes in `UNPICKLED` that it was unpickled."""

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return UNPICKLED.append, ("!",)


@pytest.fixture(params=[pickle.dumps(Bomb()), pickle.dumps({"rows": 1}), b"\xff\x00", b"{", b""])
def planted(request: pytest.FixtureRequest, redis: Any) -> Any:
    """A function that puts a value that is no JSON under a name of the cache."""
    UNPICKLED.clear()
    yield lambda name: redis.set(cache.make_key(name), request.param)
    assert UNPICKLED == []


def values(redis: Any) -> Iterator[tuple[str, bytes]]:
    """All values in Redis, of every type, by their keys."""
    readers = {
        b"string": lambda key: [redis.get(key)],
        b"list": lambda key: redis.lrange(key, 0, -1),
        b"hash": lambda key: [part for pair in redis.hgetall(key).items() for part in pair],
        b"set": redis.smembers,
        b"zset": lambda key: redis.zrange(key, 0, -1),
    }
    for key in redis.scan_iter():
        for value in readers[redis.type(key)](key):
            yield key.decode(), value


def is_pickle(value: bytes) -> bool:
    try:
        return value[:1] == b"\x80" and bool(list(pickletools.genops(value)))
    except ValueError:
        return False


def test_what_is_no_json_is_absent(planted: Any) -> None:
    planted("here")
    cache.set("there", {"a": [1, None, "é"]})

    assert cache.get("here") is None
    assert cache.get("here", "default") == "default"
    assert cache.get_many(["here", "there", "nowhere"]) == {"there": {"a": [1, None, "é"]}}
    assert cache.get_or_set("here", lambda: 7) == 7


def test_every_reader_of_the_cache_survives_what_is_no_json(planted: Any) -> None:
    caller = Caller()
    project = caller.make(CHOICE)
    staff = Staff(community=caller.community)
    watch = "0" * 36
    planted(f"export:{project['id']}:{watch}")
    planted("preview:here")
    planted("metrics:delivered")

    exported = staff.client.get(f"/admin/surveys/project/{project['id']}/results/exported/?watch={watch}")

    assert exported.json() == {"rows": None}
    assert memory.recall("here") is None
    assert metrics._delivered() == {"delivered": 0}
    assert Client().get("/readyz").status_code == 200


@pytest.mark.parametrize("value", [[], 1, "text", {"names": []}, {"names": {"x": "y"}}, {"names": {}}])
def test_json_that_is_no_walk_is_no_preview(redis: Any, value: object) -> None:
    cache.set("preview:here", value)

    assert memory.recall("here") is None


def test_json_that_is_no_number_is_no_metric(redis: Any) -> None:
    cache.set("metrics:delivered", "many")

    assert metrics._delivered() == {}


def test_no_value_is_a_pickle_after_requests_of_many_kinds(redis: Any) -> None:
    caller = Caller()
    project = caller.make_open(CHOICE, delivery={"audience": {"participation": "open_web"}})
    staff = Staff(community=caller.community)
    base = f"/admin/surveys/project/{project['id']}"

    staff.client.get(f"{base}/script/preview/")
    caller.get(f"/projects/{project['id']}/responses", **{"Idempotency-Key": "1"})
    Client().get(project["info"]["web_url"].removeprefix("http://127.0.0.1:8000"))
    Client().post("/account/login/", {"login": "nobody", "password": "none"})
    metrics._delivered()
    found = list(values(redis))

    own = [(key, value) for key, value in found if key.startswith(cache.make_key(""))]
    assert {key.split(":")[2] for key, _ in own} >= {"previews", "metrics"}
    assert [orjson.loads(value) for _, value in own]
    assert [key for key, value in found if is_pickle(value)] == []


def test_every_cache_writes_json() -> None:
    value = {"a": [1, True, None]}

    for each in caches.all():
        client = each.client  # type: ignore[attr-defined]  # of django-redis
        assert orjson.loads(client.encode(value)) == value
    assert len(caches.settings) == 1
    assert settings.SESSION_SERIALIZER.endswith(".JSONSerializer")


def test_workers_refuse_messages_that_are_pickles() -> None:
    conf = current_app.conf
    kind, encoding, message = dumps([Bomb()], serializer="pickle")

    assert (conf.task_serializer, conf.result_serializer, conf.event_serializer) == ("json",) * 3
    assert list(conf.accept_content) == ["json"]
    with pytest.raises(ContentDisallowed):
        loads(message, kind, encoding, accept=conf.accept_content)
    assert UNPICKLED == []


def test_no_module_of_ours_can_pickle() -> None:
    names = {"pickle", "cPickle", "dill", "shelve", "marshal", "jsonpickle"}
    found = []
    for module in our_code.modules(*names):
        for node in ast.walk(module.tree):
            imported = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            imported += [str(node.module)] if isinstance(node, ast.ImportFrom) else []
            found += [module.path for name in imported if name.partition(".")[0] in names]

    assert found == []
