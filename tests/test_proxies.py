"""Proxies that do not say who asked and how, or are not believed: the site says so in words."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.checks import run_checks
from django.test import Client
from structlog.testing import capture_logs

from communities.gate import proxies
from config import checks, startup

FORWARDED = {"X-Forwarded-For": "192.0.2.1"}
HTTPS = {**FORWARDED, "X-Forwarded-Proto": "https"}
HTTP = {**FORWARDED, "X-Forwarded-Proto": "http"}


@pytest.fixture
def site(settings: Any) -> Any:
    """The settings of a site with https."""
    settings.BASE_URL, settings.ALLOWED_HOSTS = (
        "https://surveys.example.org",
        ["surveys.example.org", "127.0.0.1"],
    )
    settings.SECURE_SSL_REDIRECT = True
    return settings


def believe(settings: Any, number: int) -> None:
    settings.TRUSTED_PROXIES = number
    settings.SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if number else None


@pytest.mark.parametrize(
    ("number", "headers", "problem"),
    [
        (0, HTTPS, proxies.NOT_TRUSTED),
        (1, FORWARDED, proxies.NO_PROTO),
        (0, {}, None),
        (0, HTTP, None),
        (1, {}, None),
        (1, HTTP, None),
    ],
)
def test_a_redirect_that_would_never_end_is_a_sentence(
    site: Any, client: Client, number: int, headers: dict[str, str], problem: str | None
) -> None:
    """Rule 12.585."""
    believe(site, number)

    with capture_logs() as logs:
        page = client.get("/account/login/", headers={"Host": "surveys.example.org", **headers})
        called = client.get("/v1/communities", headers={"Host": "surveys.example.org", **headers})

    told = [line["problem"] for line in logs if line["event"] == "proxy.wrong"]
    if problem is None:
        assert (page.status_code, page["Location"]) == (301, "https://surveys.example.org/account/login/")
        assert told == []
    else:
        assert (page.status_code, page.content.decode()) == (403, f"{problem}\n")
        assert called.json()["message"] == problem
        assert told == [problem, problem]
    assert called.status_code == 403


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("number", "headers", "host", "told"),
    [
        (1, HTTPS, "127.0.0.1:8000", [proxies.NO_HOST]),
        (1, HTTPS, "surveys.example.org", []),
        (1, {}, "127.0.0.1:8000", []),
        (0, HTTPS, "127.0.0.1:8000", []),
    ],
)
def test_a_proxy_that_does_not_pass_on_the_host_is_named_in_the_log(
    site: Any, client: Client, number: int, headers: dict[str, str], host: str, told: list[str]
) -> None:
    """Rule 12.585."""
    believe(site, number)

    with capture_logs() as logs:
        client.get("/healthz", headers={"Host": host, **headers})

    assert [line["problem"] for line in logs if line["event"] == "proxy.wrong"] == told


@pytest.mark.parametrize(
    ("number", "bind", "ids"),
    [
        (0, "127.0.0.1", ["config.W001"]),
        (1, "127.0.0.1", []),
        (1, "0.0.0.0", ["config.W002"]),
        (1, "::", ["config.W002"]),
        (0, "0.0.0.0", ["config.W001"]),
    ],
)
def test_the_check_of_a_deployment_warns_of_a_proxy_that_is_not_believed_or_not_alone(
    site: Any, number: int, bind: str, ids: list[str]
) -> None:
    """Rule 12.586."""
    believe(site, number)
    site.BIND = bind

    found = [
        each for each in run_checks(include_deployment_checks=True) if str(each.id).startswith("config.W")
    ]

    assert [each.id for each in found] == ids
    assert all(word in each.msg for each in found for word in ("TRUSTED_PROXIES", str(number)))


@pytest.mark.parametrize(("number", "problems"), [(0, [checks.NO_PROXY]), (1, [])])
def test_a_web_process_says_at_its_start_that_the_proxy_is_not_believed(
    site: Any, number: int, problems: list[str]
) -> None:
    """Rule 12.586."""
    believe(site, number)

    with capture_logs() as logs:
        startup.check_proxy()

    assert [line["problem"] for line in logs] == problems
