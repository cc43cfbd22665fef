"""The client of the SDK: loaded late, shared by threads, with our key and no other."""

import os
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import httpx2
import pytest

from surveys.ai.claude import ClaudeProvider
from surveys.ai.models.provider import ModelProvider
from surveys.ai.openai import OpenAIProvider
from surveys.ai.provider import AnalysisOverview, Provider, ScriptRequest
from tests.support.ai.api_key import KEY
from tests.support.ai.loopback import Loopback
from tests.support.cases import try_each

OVERVIEW = AnalysisOverview("Tea", completion_count=3, conversation_count=4, blocks=[])
ROOT = Path(__file__).resolve().parents[2]
IMPORTS = """
import sys
from surveys.ai.claude import ClaudeProvider
ClaudeProvider(api_key="key").close()
heavy = {"anthropic", "httpx2", "pydantic"} & sys.modules.keys()
sys.exit(f"loaded: {heavy}" if heavy else 0)
"""


def test_the_sdk_is_not_loaded_before_the_first_request() -> None:
    environment = {"PATH": os.environ["PATH"], "DJANGO_SETTINGS_MODULE": "config.settings"}

    subprocess.run([sys.executable, "-c", IMPORTS], cwd=ROOT, env=environment, check=True)


def test_it_implements_the_provider_protocol(claude: ClaudeProvider) -> None:
    provider: Provider = claude

    assert provider.name == "anthropic"
    assert provider.max_batch_size == 100


def test_twenty_threads_share_one_client_at_the_same_time(
    claude: ClaudeProvider, anthropic: Loopback
) -> None:
    together = Barrier(20, timeout=60)

    def wait_for_all(_body: object) -> object:
        together.wait()
        return {"summary": "Fine."}

    anthropic.default_to(wait_for_all)
    with ThreadPoolExecutor(20) as threads:
        summaries = list(threads.map(lambda _: claude.summarize_analysis(OVERVIEW), range(20)))

    assert summaries == ["Fine."] * 20
    assert anthropic.max_concurrent == 20


def test_other_credentials_in_the_environment_are_ignored(
    claude: ClaudeProvider, anthropic: Loopback, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "configs").mkdir()
    (tmp_path / "configs" / "default.json").write_text('{"authentication": {"type": "oauth"}}')
    monkeypatch.setenv("ANTHROPIC_CONFIG_DIR", str(tmp_path))
    monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", "another")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "one more")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:1")

    claude.summarize_analysis(OVERVIEW)

    headers = anthropic.requests[0].headers
    assert headers["authorization"] == f"Bearer {KEY}"
    assert "x-api-key" not in headers
    assert headers["anthropic-version"] == "2026-10-21"


def test_a_closed_provider_opens_again(claude: ClaudeProvider, anthropic: Loopback) -> None:
    claude.summarize_analysis(OVERVIEW)
    claude.close()
    claude.close()

    claude.summarize_analysis(OVERVIEW)

    assert len(anthropic.requests) == 2


def test_the_loopback_refuses_what_the_real_api_refuses(anthropic: Loopback) -> None:
    message = {"model": "m", "max_tokens": 1, "messages": [{"role": "user", "content": "?"}]}
    schema = {"type": "object", "properties": {"a": {"type": "string", "maxLength": 5}}, "required": []}
    config = {"format": {"type": "json_schema", "schema": schema}}
    version = {"anthropic-version": "2026-10-21"}

    def status(headers: dict[str, str], **changes: object) -> int:
        answer = httpx2.post(f"{anthropic.url}/v1/messages", headers=headers, json={**message, **changes})
        return answer.status_code

    assert status(version) == 401
    assert status({"x-api-key": "key"}) == 400
    assert status({"x-api-key": "key", **version}, max_tokens=None) == 400
    assert status({"x-api-key": "key", **version}, temperature=1) == 400
    assert status({"authorization": "Bearer key", **version}, output_config=config) == 400


@try_each(
    ("arguments", "connect"),
    [
        ([], lambda address: ClaudeProvider(api_key=KEY, base_url=address)),
        (["--chat"], lambda address: OpenAIProvider(model="any", base_url=address)),
    ],
)
def test_the_loopback_runs_by_itself(arguments: list[str], connect: Callable[[str], ModelProvider]) -> None:
    command = [sys.executable, "-m", "tests.support.ai.loopback", "--port", "0"]
    command += arguments
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            address = process.stdout.readline().split()[-1]
            with connect(address) as provider:
                draft = provider.draft_script(ScriptRequest("6 questions about tea", "convo"))
        finally:
            process.terminate()

    assert len(draft.blocks) == 8
