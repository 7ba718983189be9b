"""Metrics and health over HTTP: the format, the address, and what may be asked."""

import http.client
import json
import re
import socket
from collections.abc import Iterator
from typing import Any

import psutil
import pytest

from fedclust.core import ConfigError
from fedclust.deploy.exposition import Family, Kind, Sample, render
from fedclust.deploy.monitor import Health, serving

NAME, LABEL = r"[a-zA-Z_:][a-zA-Z0-9_:]*", r"[a-zA-Z_][a-zA-Z0-9_]*"
SAMPLE = re.compile(rf"({NAME})(?:\{{(.*)\}})? (\S+)")
PAIR = re.compile(rf'({LABEL})="((?:[^"\\\n]|\\[\\"n])*)"(?:,|$)')


def parse(text: str) -> dict[str, dict[tuple[tuple[str, str], ...], float]]:
    """Samples by family; raises for what is not in the text format of Prometheus."""
    assert text.endswith("\n")
    kinds: dict[str, str] = {}
    helped: set[str] = set()
    found: dict[str, dict[tuple[tuple[str, str], ...], float]] = {}
    for line in text[:-1].split("\n"):
        if line.startswith("# HELP "):
            name = line.split(" ", 3)[2]
            assert name not in helped
            helped.add(name)
        elif line.startswith("# TYPE "):
            _, _, name, kind = line.split(" ")
            assert kind in ("counter", "gauge")
            assert name not in kinds
            kinds[name] = kind
        else:
            match = SAMPLE.fullmatch(line)
            assert match, line
            name, labels, value = match.groups()
            assert name in kinds, "samples follow their type"
            assert name in helped
            assert (kinds[name] == "counter") == name.endswith("_total")
            pairs = tuple(PAIR.findall(labels or ""))
            assert PAIR.sub("", labels or "") == ""
            assert pairs not in found.setdefault(name, {})
            found[name][pairs] = float(value)
    return found


class Source:
    """A source with names that have to be escaped."""

    def __init__(self) -> None:
        self.well = True

    def families(self) -> Iterator[Family]:
        odd = Sample(0.5, {"name": 'a"b\\c\nd', "other": ""})
        yield Family("x_total", Kind.COUNTER, "One\nline.", (Sample(3, {"code": "data"}), odd))
        yield Family("empty", Kind.GAUGE, "No samples.", ())
        yield Family("y", Kind.GAUGE, "Large.", (Sample(1.75e9),))

    def health(self) -> Health:
        return Health(self.well, {"client": "north"})


def test_the_format_is_that_of_prometheus() -> None:
    found = parse(render(Source().families()))
    assert found == {
        "x_total": {
            (("code", "data"),): 3.0,
            (("name", r"a\"b\\c\nd"), ("other", "")): 0.5,
        },
        "y": {(): 1.75e9},
    }


@pytest.fixture
def source() -> Source:
    return Source()


@pytest.fixture
def port(source: Source) -> Iterator[int]:
    said: list[str] = []
    with serving(0, source, said.append):
        yield int(said[0].split(":")[3].split("/")[0])


def ask(port: int, path: str, method: str = "GET", **headers: str) -> tuple[int, str, Any]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    connection.request(method, path, headers=headers)
    reply = connection.getresponse()
    body, kind = reply.read().decode(), reply.headers.get_content_type()
    connection.close()
    return reply.status, kind, body


def test_metrics_and_health_are_served(port: int, source: Source) -> None:
    status, kind, body = ask(port, "/metrics")
    assert (status, kind) == (200, "text/plain")
    assert parse(body)["y"] == {(): 1.75e9}
    status, kind, body = ask(port, "/health")
    assert (status, kind, json.loads(body)) == (
        200,
        "application/json",
        {"status": "ok", "client": "north"},
    )
    source.well = False
    status, _, body = ask(port, "/health")
    assert (status, json.loads(body)["status"]) == (503, "failing")


def test_nothing_else_is_served(port: int) -> None:
    assert ask(port, "/")[0] == 404
    assert ask(port, "/../client.toml")[0] == 404
    assert ask(port, "/metrics", "HEAD")[::2] == (200, "")
    for method in ("POST", "PUT", "DELETE", "PATCH", "OPTIONS"):
        assert ask(port, "/metrics", method)[0] == 501


def test_a_page_in_a_browser_cannot_read_it_under_a_name_of_its_own(port: int) -> None:
    assert ask(port, "/metrics", Host="attacker.example")[0] == 403
    assert ask(port, "/metrics", Host=f"attacker.example:{port}")[0] == 403
    assert ask(port, "/metrics", Host=f"localhost:{port}")[0] == 200


def test_only_the_loopback_address_is_bound(port: int) -> None:
    own = psutil.Process().net_connections("tcp")
    listening = {c.laddr.ip for c in own if c.status == "LISTEN" and c.laddr.port == port}
    assert listening == {"127.0.0.1"}


def test_a_connection_that_asks_nothing_holds_up_nobody(port: int) -> None:
    with socket.create_connection(("127.0.0.1", port)):
        assert ask(port, "/health")[0] == 200


def test_a_source_that_fails_is_an_error_and_not_a_healthy_one(
    port: int, source: Source, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source, "health", lambda: 1 / 0)
    assert ask(port, "/health") == (500, "text/plain", "ZeroDivisionError\n")


def test_a_port_that_is_taken_or_impossible_is_one_sentence(port: int, source: Source) -> None:
    for wrong, says in ((port, "Address already in use; choose another"), (70_000, "0 and 65535")):
        with pytest.raises(ConfigError, match=says), serving(wrong, source, print):
            pass


def test_without_a_port_nothing_is_served(source: Source) -> None:
    with serving(None, source, lambda text: pytest.fail(text)):
        pass
