"""Samples of metrics in the text format of Prometheus."""

from __future__ import annotations

from prometheus_client.parser import text_string_to_metric_families

DURATION = "colloquy_http_request_duration_seconds"
Samples = dict[tuple[str, frozenset[tuple[str, str]]], float]


def parse_samples(text: str) -> Samples:
    """All samples of a page of metrics, by name and labels."""
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def value(samples: Samples, name: str, **labels: object) -> float | None:
    """The value of a sample; None if there is none."""
    return samples.get((name, frozenset((label, str(text)) for label, text in labels.items())))
