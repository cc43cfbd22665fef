"""Data that stay in memory between requests have a bound, or a key that no caller can vary (rule 11.27)."""

from __future__ import annotations

import ast
import threading
from collections.abc import Iterator

import pytest

from communities.ground.cached import cached_property
from tests.support import our_code
from tests.support.cases import try_each

MEMOIZERS = {"cache", "lru_cache", "cached", "cachedmethod"}
BOUNDED = {"Cache", "FIFOCache", "LFUCache", "LRUCache", "RRCache", "TTLCache", "TLRUCache"}
WEAK_OR_LOCAL = {"WeakKeyDictionary", "WeakValueDictionary", "WeakSet", "threading.local", "ContextVar"}
STATEMENTS = "A statement or the columns of a model, of which there are as many as models."
OF_A_LANGUAGE = "As many as languages of which there are translations."
ONCE = "Has no arguments: it is computed once."
FILES = "By the name of a file or a template of the program."
REGISTRY = "Filled when modules are imported."
EMPTY = "Never filled: a default, or an attribute that Django reads."
IN_PLACE = {
    "communities/accounts/forms.py:Limited.words": EMPTY,
    "communities/accounts/providers/urls.py:urlpatterns": REGISTRY,
    "communities/ground/transactions.py:ContextVar()": "A number for each thread.",
    "communities/staff/audit_trail.py:_projects": REGISTRY,
    "communities/staff/audit_trail.py:_sources": REGISTRY,
    "communities/staff/home.py:_attention": REGISTRY,
    "communities/staff/failures.py:_sources": REGISTRY,
    "communities/staff/home.py:_sources": REGISTRY,
    "communities/staff/home.py:_steps": REGISTRY,
    "communities/staff/pages.py:site_pages": REGISTRY,
    "communities/gate/validation.py:_prototype": "By shapes, which are classes of modules.",
    "communities/gate/views.py:UnknownPath.least_role": EMPTY,
    "communities/models/user.py:User.REQUIRED_FIELDS": EMPTY,
    "communities/staff/zone_changes.py:_sources": REGISTRY,
    "communities/ground/sealing.py:_root_loaders": REGISTRY,
    "communities/ground/sealing.py:hash_root": ONCE,
    "communities/ground/queue.py:threading.local()": "One flag for each thread.",
    "communities/ground/queue.py:Waker._waiting": "At most MAX_WAITING, and emptied as they are sent.",
    "communities/ground/redis_connection.py:_client_of": "By the setting REDIS_URL.",
    "communities/services/chat/overview.py:_kinds": REGISTRY,
    "communities/services/people/identities.py:_merges": REGISTRY,
    "communities/services/people/member_changes.py:_announcers": REGISTRY,
    "communities/services/tenants/settings.py:_followers": REGISTRY,
    "communities/services/mail/mails.py:_kinds": REGISTRY,
    "communities/services/tenants/places.py:_by_city": ONCE,
    "communities/services/tenants/places.py:common_time_zones": ONCE,
    "communities/services/tenants/places.py:time_zones": ONCE,
    "communities/ground/outgoing.py:ContextVar()": "One time limit for each thread.",
    "communities/ground/outgoing.py:_tls": ONCE,
    "communities/ground/statements.py:_by_id": STATEMENTS,
    "communities/ground/statements.py:_layout": STATEMENTS,
    "communities/ground/statements.py:columns_of": STATEMENTS,
    "communities/ground/statements.py:width_of": STATEMENTS,
    "communities/ground/slots.py:Slots._taken": "One for each slot that is taken.",
    "config/docs.py:_drawn": ONCE,
    "config/docs.py:_menu": ONCE,
    "config/docs.py:_search_index": ONCE,
    "config/documents.py:_parser": ONCE,
    "config/documents.py:documents": ONCE,
    "config/openapi.py:_schema": ONCE,
    "config/reference.py:groups": ONCE,
    "config/reference.py:introduction": ONCE,
    "config/reference.py:refusals": ONCE,
    "config/reference.py:_usual": ONCE,
    "config/mcp.py:_described_tools": ONCE,
    "config/mcp.py:_operations": ONCE,
    "config/embedded.py:_attached": "The embedded servers of this machine.",
    "config/management/commands/accept_secret_key.py:Command.requires_system_checks": EMPTY,
    "config/management/commands/backup.py:Command.requires_system_checks": EMPTY,
    "config/management/commands/restore.py:Command.requires_system_checks": EMPTY,
    "config/management/commands/reseal.py:Command.requires_system_checks": EMPTY,
    "config/management/commands/reset.py:Command.requires_system_checks": EMPTY,
    "config/management/commands/run.py:Command.requires_system_checks": EMPTY,
    "config/management/commands/services.py:Command.requires_system_checks": EMPTY,
    "config/management/commands/worker.py:Command.requires_system_checks": EMPTY,
    "config/metrics.py:_histogram": "By routes, METHODS and statuses, none of which a caller can add to.",
    "config/telemetry.py:tracer": ONCE,
    "config/templating.py:cache(...)": FILES,
    "surveys/admin/project_forms.py:ProjectForm.paths": EMPTY,
    "surveys/drawing/lettering.py:_path": ONCE,
    "surveys/pages/respondent/views.py:_icon": ONCE,
    "surveys/ai/__init__.py:_provider": "By the names of the three providers.",
    "surveys/ai/models/prompts.py:_template": FILES,
    "communities/ground/translation.py:ContextVar()": "A language for each thread.",
    "communities/ground/translation.py:catalog": OF_A_LANGUAGE,
    "surveys/drawing/words.py:_words_in": OF_A_LANGUAGE,
    "surveys/ai/models/client.py:ContextVar()": "One time limit for each thread.",
    "surveys/ai/spending.py:ContextVar()": "The sums of the work that runs now.",
    "surveys/ai/local/drafts/bank.py:_patterns": FILES,
    "surveys/ai/local/drafts/bank.py:blocks": ONCE,
    "surveys/ai/local/drafts/languages.py:_english_keywords": ONCE,
    "surveys/ai/local/drafts/languages.py:_languages_by_word": ONCE,
    "surveys/ai/local/drafts/languages.py:catalog": FILES,
    "surveys/ai/local/drafts/languages.py:written_languages": ONCE,
    "surveys/ai/local/drafts/leftovers.py:_common": FILES,
    "surveys/ai/local/drafts/library.py:_by_id": ONCE,
    "surveys/ai/local/drafts/library.py:all_templates": ONCE,
    "surveys/ai/local/drafts/library.py:further_questions": ONCE,
    "surveys/ai/local/drafts/matching.py:_keyword_stems": FILES,
    "surveys/ai/local/drafts/matching.py:_phrase_points": FILES,
    "surveys/ai/local/drafts/matching.py:_subject_stems": FILES,
    "surveys/ai/local/drafts/matching.py:_vectors": FILES,
    "surveys/ai/local/drafts/matching.py:_word_points": FILES,
    "surveys/ai/local/embeddings.py:_model": ONCE,
    "surveys/ai/local/texts/answers.py:_german_words": ONCE,
    "surveys/ai/local/texts/matching.py:_words_of_cues": ONCE,
    "surveys/ai/local/texts/languages.py:_common_words": "By languages for which there is a list of words.",
    "surveys/ai/local/texts/languages.py:_identifier": ONCE,
    "surveys/ai/local/texts/languages.py:light_words": "By pairs of languages that the detector knows.",
    "surveys/ai/local/texts/seeds.py:_keys_by_name": ONCE,
    "surveys/ai/local/texts/seeds.py:all_seeds": ONCE,
    "surveys/ai/local/texts/seeds.py:seed_index": ONCE,
    "surveys/ai/local/texts/sentiment.py:_words": ONCE,
    "surveys/ai/local/texts/threads.py:threading.local()": "One flag for each thread.",
    "surveys/ai/local/texts/tokens.py:cache(...)": "As long as a tokenizer, which reads one question.",
    "surveys/ai/quotes.py:_first_names": ONCE,
    "surveys/services/ground/jobs.py:WeakValueDictionary()": "The jobs that this process has now.",
    "surveys/services/ground/lookup.py:_statement": STATEMENTS,
    "surveys/services/ground/lookup.py:_statement_with_details": ONCE,
    "surveys/services/projects/addresses.py:_statement": ONCE,
    "surveys/services/counting/counts.py:_NO_NAMES": EMPTY,
    "webhooks/projects.py:_finders": REGISTRY,
    "webhooks/projects.py:_listers": REGISTRY,
    "webhooks/sender.py:tls": ONCE,
    "webhooks/services/precise_retries.py:RetrySchedule._times": "At most MAX_RETRIES, until they are due.",
    "xp/admin/profile.py:_pages": REGISTRY,
    "xp/admin/profile.py:_sources": REGISTRY,
}
"""What may grow by its form and does not, with the reason."""
COLLECTIONS = {"dict", "list", "set", "defaultdict", "OrderedDict", "Counter", "deque"}


def name_of(node: ast.expr) -> str:
    """The last part of a name: `cache` of `functools.cache`, `LRUCache` of `LRUCache[str, int]`."""
    if isinstance(node, ast.Subscript):
        return name_of(node.value)
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def is_empty_collection(node: ast.expr | None) -> bool:
    if isinstance(node, ast.Dict):
        return not node.keys
    if isinstance(node, ast.List):
        return not node.elts
    if not isinstance(node, ast.Call) or name_of(node.func) not in COLLECTIONS:
        return False
    return not node.args or name_of(node.func) == "defaultdict"


def bound_of(call: ast.Call) -> ast.expr | None:
    """The argument with the size of a cache; the default of `lru_cache` is 128."""
    given = [*call.args[:1], *(each.value for each in call.keywords if each.arg == "maxsize")]
    if given:
        return given[0]
    return ast.Constant(128) if name_of(call.func) == "lru_cache" else None


def is_number(bound: ast.expr | None) -> bool:
    """Whether this is a number or the name of one, and not None."""
    return bound is not None and not (isinstance(bound, ast.Constant) and not isinstance(bound.value, int))


def unbounded(tree: ast.Module) -> Iterator[str]:
    """The names of objects that may grow: memoized functions, weak and local stores, collections."""
    long_lived = {  # classes of which the module makes an object
        name_of(node.value.func)
        for node in tree.body
        if isinstance(node, ast.Assign | ast.AnnAssign) and isinstance(node.value, ast.Call)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            for decorator in node.decorator_list:
                called = decorator.func if isinstance(decorator, ast.Call) else decorator
                is_bare = not isinstance(decorator, ast.Call)
                if name_of(called) not in MEMOIZERS or (is_bare and name_of(called) == "lru_cache"):
                    continue
                if is_bare or not is_number(bound_of(decorator)):  # type: ignore[arg-type]
                    yield node.name
        elif isinstance(node, ast.ClassDef) and node.name in long_lived:
            for each in ast.walk(node):
                if isinstance(each, ast.Assign | ast.AnnAssign) and is_empty_collection(each.value):
                    target = each.targets[0] if isinstance(each, ast.Assign) else each.target
                    if isinstance(target, ast.Attribute):
                        yield f"{node.name}.{target.attr}"
    for node in tree.body:
        for each in [node, *(node.body if isinstance(node, ast.ClassDef) else ())]:
            if isinstance(each, ast.Assign | ast.AnnAssign) and is_empty_collection(each.value):
                target = each.targets[0] if isinstance(each, ast.Assign) else each.target
                yield f"{node.name}.{name_of(target)}" if isinstance(node, ast.ClassDef) else name_of(target)
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            kind = name_of(node.func)
            if (
                kind in WEAK_OR_LOCAL
                or (kind == "local" and ast.unparse(node.func) in WEAK_OR_LOCAL)
                or (kind in BOUNDED and not is_number(bound_of(node)))
            ):
                yield f"{'threading.' if kind == 'local' else ''}{kind}()"
            if kind in {"cache", "lru_cache"} and node.args and not isinstance(node.args[0], ast.Constant):
                yield f"{kind}(...)"


@pytest.fixture(scope="module")
def modules() -> list[our_code.Module]:
    """Each is parsed once."""
    return list(our_code.modules())


@pytest.mark.long
def test_every_cache_has_a_bound_or_a_reason_not_to_grow(modules: list[our_code.Module]) -> None:
    found = {f"{each.path}:{name}" for each in modules for name in unbounded(each.tree)}

    assert found == set(IN_PLACE), "Give a new cache a bound, or say here why no caller can make it grow."


@try_each(
    ("source", "name"),
    [
        ("@cache\ndef f(x): ...", "f"),
        ("@functools.cache\ndef f(x): ...", "f"),
        ("@functools.lru_cache(maxsize=None)\ndef f(x): ...", "f"),
        ("@lru_cache(None)\ndef f(x): ...", "f"),
        ("class A:\n    @lru_cache(maxsize=None)\n    def f(self): ...", "f"),
        ("seen = {}", "seen"),
        ("seen: set[int] = set()", "seen"),
        ("seen = collections.OrderedDict()", "seen"),
        ("seen = defaultdict(list)", "seen"),
        ("class A:\n    seen: dict[str, int] = {}", "A.seen"),
        ("class A:\n    def __init__(self):\n        self.seen = {}\na = A()", "A.seen"),
        ("here = threading.local()", "threading.local()"),
        ("here = ContextVar('here')", "ContextVar()"),
        ("def f():\n    return cache(lambda x: x)", "cache(...)"),
    ],
)
def test_what_may_grow_is_found(source: str, name: str) -> None:
    assert list(unbounded(ast.parse(source))) == [name]


@try_each(
    "source",
    [
        "@lru_cache\ndef f(x): ...",
        "@lru_cache(maxsize=16)\ndef f(x): ...",
        "@lru_cache(maxsize=MOST)\ndef f(x): ...",
        "a: LRUCache[str, int] = LRUCache(MOST, getsizeof=len)",
        "a = {1: 2}",
        "def f():\n    seen = {}",
    ],
)
def test_what_has_a_bound_is_not_found(source: str) -> None:
    assert list(unbounded(ast.parse(source))) == []


def test_no_function_makes_a_class(modules: list[our_code.Module]) -> None:
    """A class that is made for a request stays in every cache that knows it, and costs much by itself."""
    found = []
    for module in modules:
        path, tree = module.path, module.tree
        for function in ast.walk(tree):
            if isinstance(function, ast.FunctionDef):
                for node in ast.walk(function):
                    makes = (
                        isinstance(node, ast.Call) and name_of(node.func) == "type" and len(node.args) == 3
                    )
                    if makes or isinstance(node, ast.ClassDef):
                        found.append(f"{path}:{function.name}")

    assert sorted(set(found)) == []


def test_no_property_has_a_lock_for_all_objects(modules: list[our_code.Module]) -> None:
    """That of `functools` has one in Python 3.11, and that of Django cannot be used by the engine."""
    taken = [
        each.path
        for each in modules
        for node in ast.walk(each.tree)
        if isinstance(node, ast.ImportFrom)
        and node.module == "functools"
        and any(alias.name == "cached_property" for alias in node.names)
    ]

    assert taken == []


def test_a_cached_property_makes_no_other_object_wait() -> None:
    class Slow:
        def __init__(self, waits_for: threading.Event | None = None) -> None:
            self.waits_for = waits_for
            self.count = 0

        @cached_property
        def value(self) -> int:
            if self.waits_for is not None:
                assert self.waits_for.wait(10)
            self.count += 1
            return self.count

    free = threading.Event()
    slow, other = Slow(free), Slow()
    computing = threading.Thread(target=lambda: slow.value)
    computing.start()

    assert (other.value, other.value, other.count) == (1, 1, 1)
    free.set()
    computing.join(10)
    assert (slow.value, slow.count) == (1, 1)
