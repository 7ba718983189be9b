"""The page of a client: its own line, and every message that left it."""

import json
import time
from pathlib import Path

import pytest

from fedclust.client.disclosures import read_disclosures
from fedclust.core import ConfigError
from fedclust.watch.client import ClientWatch
from fedclust.watch.sources import open_source
from fedclust.watch.view import Tone

pytest.importorskip("nvflare", reason="clients need fedclust[nvflare]")

from ..deploy.test_client_monitor import Watched
from ..report.browser import tab
from .test_page import APART, page, text


def test_the_page_is_the_log_of_disclosures(tmp_path: Path) -> None:
    watched = Watched(tmp_path)
    source = open_source(watched.kit)
    assert source.look().headline.text == "Nothing has left north"
    watched.run()
    (watched.kit / "contact").touch()
    view, log = source.look(), list(read_disclosures(watched.kit / "disclosures.jsonl"))
    assert [message.sha256 for message in view.messages] == [x["sha256"] for x in reversed(log)]
    assert {message.to for message in view.messages} == {str(line["to"]) for line in log}
    total = view.totals[0]
    assert (total.study, total.replies) == ("s", len(log))
    assert total.approval == "by the rules of client.toml"
    assert total.protection == "nothing"  # tier none
    said = {message.what: message.content for message in view.messages}
    assert said["llf-fcm, round 1"].startswith("Weights and weighted sums")
    assert said["llf-fcm, round 1"].endswith(": weight [3], total [3, 2]")
    assert view.headline.text.endswith("the log below has every message")
    assert view.clients == ()  # nothing of other clients
    named = json.dumps(json.loads(view.as_json()))
    assert "south" not in named
    assert {fact.name: fact.value for fact in view.facts}["queries"] == str(log[-1]["queries"])


def test_what_waits_and_what_was_refused_comes_first(tmp_path: Path) -> None:
    watched = Watched(tmp_path, consent='studies = ["another"]\nmax_queries = 3')
    source = ClientWatch(watched.kit)
    with pytest.raises(Exception, match="client"):
        watched.run()
    view = source.look()
    assert view.headline.tone is Tone.ALARM
    assert view.headline.text.startswith("Refused the latest request:")
    assert "Nothing but refusals has left north, " in view.headline.text
    assert any(message.refused for message in view.messages)
    waits = watched.kit / "pending" / "abc"
    waits.mkdir(parents=True)
    (waits / "heart.toml").write_text("anything")
    assert source.look().headline.text.startswith("Waiting for your approval: heart.")
    assert (waits / "heart.toml").exists()  # looking removes nothing


def test_looking_changes_no_file(tmp_path: Path) -> None:
    watched = Watched(tmp_path)
    watched.run()
    time.sleep(0.01)
    before = {p: (p.stat().st_mtime_ns, p.stat().st_size) for p in sorted(watched.kit.rglob("*"))}
    ClientWatch(watched.kit).look()
    after = {p: (p.stat().st_mtime_ns, p.stat().st_size) for p in sorted(watched.kit.rglob("*"))}
    assert after == before


def test_a_server_kit_is_no_client(tmp_path: Path) -> None:
    (tmp_path / "client.toml").write_text("")
    with pytest.raises(ConfigError, match="not a kit"):
        open_source(tmp_path)


def test_the_page_of_a_client_in_a_browser(tmp_path: Path) -> None:
    watched = Watched(tmp_path)
    watched.run()
    with page(watched.kit) as (address, _), tab() as browser:
        for width, dark in ((1280, False), (390, True)):
            browser.open(address, width=width, dark=dark)
            assert "the log below has every message" in text(browser)
            assert browser.value("document.documentElement.scrollWidth") <= width
            assert browser.complaints() == []
            tables = "[...document.querySelectorAll('.scroll')]"
            cut = f"{tables}.filter(t => t.scrollWidth > t.clientWidth)"
            hinted = "t => t.previousElementSibling.className === 'hint'"
            assert browser.value(f"{cut}.length > 0 && {cut}.every({hinted})")
            assert browser.run(APART) == []
