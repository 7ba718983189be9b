"""A run that has finished, from the files of its folder."""

import contextlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from .view import ClientRow, Fact, Headline, Tone, View
from .words import data_size, several

_MODEL = "model.json"
_LOADINGS = 2


class FinishedRun:
    """Reads the folder of a run once, and again if it has been replaced."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._read: tuple[int, int] | None = None  # what was read: inode and time
        self._view: View | None = None

    def look(self) -> View | None:
        """The page; None if there is no finished run."""
        try:
            found = (self._folder / _MODEL).stat()
        except OSError:
            self._read = self._view = None
            return None
        if (now := (found.st_ino, found.st_mtime_ns)) != self._read:
            self._view, self._read = self._describe(), now
        return self._view

    def _describe(self) -> View:
        try:
            return describe(self._folder)
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as problem:
            text = f"The files in {self._folder} cannot be read ({type(problem).__name__})."
            headline = Headline(text, Tone.ALARM)
            return View(kind="run", title=self._folder.name, over="Study", headline=headline)


def describe(folder: Path) -> View:
    """The page of a finished run."""
    model = json.loads((folder / _MODEL).read_text(encoding="utf-8"))
    profile = json.loads((folder / "profile.json").read_text(encoding="utf-8"))
    history = list(_lines(folder / "history.jsonl"))
    incidents = list(_lines(folder / "incidents.jsonl"))
    drawn = profile.get("map") or {}
    ellipses = drawn.get("ellipses", ())
    return View(
        kind="run",
        title=str(model["study"]),
        over="Study, finished",
        headline=Headline(_outcome(model, profile), Tone.DONE, model["created"]),
        facts=tuple(_facts(model, profile, folder)),
        clients=tuple(_rows(model, profile, incidents)),
        privacy=tuple(_privacy(model["privacy"])),
        warnings=tuple(_warnings(model, incidents)),
        shifts=[(h["round"], h["shift"]) for h in history if h.get("shift") is not None],
        trail=[[list(e["center"]) for e in ellipses]] if ellipses else [],
        ids=tuple(int(e["id"]) for e in ellipses),
        axes=(_axis(drawn["axes"][0]), _axis(drawn["axes"][1])) if ellipses else ("", ""),
    )


def _lines(file: Path) -> Iterator[dict[str, Any]]:
    with contextlib.suppress(OSError):
        for text in file.read_text(encoding="utf-8").splitlines():
            with contextlib.suppress(ValueError):
                yield dict(json.loads(text))


def _outcome(model: Mapping[str, Any], profile: Mapping[str, Any]) -> str:
    """The outcome in one sentence."""
    clusters = several(len(profile["clusters"]), "cluster")
    used = [client["used"] for client in profile["clients"]]
    clients = several(len(used), "client")
    rows = f" of {sum(used):,} rows" if all(n is not None for n in used) else ""
    if model.get("split") == "columns":  # of the same records
        rows = f" of the {int(model['n_records']):,} records"
    rounds = several(int(model["rounds"]), "round")
    if model["ended_by_tier"]:
        end = f"the tier ended it after {rounds}"
    elif model["converged"]:
        end = f"it converged after {rounds}"
    else:
        end = f"it stopped after {rounds}, before it had converged"
    return f"Finished: {clusters}{rows} of {clients}; {end}"


def _facts(model: Mapping[str, Any], profile: Mapping[str, Any], folder: Path) -> Iterator[Fact]:
    yield Fact("algorithm", str(model["algorithm"]))
    yield Fact("rounds", f"{int(model['rounds']):,}")
    yield Fact("received", data_size(sum(model["bytes_sent"].values())), "from all clients")
    queries = sum(int(phase["rounds"]) for phase in profile["phases"])
    most = model["privacy"]["parameters"].get("max_queries")
    yield Fact("queries", f"{queries:,}", f"of at most {most:,}" if most else "no limit")
    parameters = model["privacy"]["parameters"]
    if parameters.get("epsilon") is not None:
        spent = model["privacy"]["epsilon_spent"] or parameters["epsilon"]
        yield Fact("epsilon spent", f"{spent:.3g}", f"at delta {parameters['delta']:g}")
    if (folder / "report.html").exists():
        yield Fact("report", "report.html", str(folder))


def _rows(
    model: Mapping[str, Any], profile: Mapping[str, Any], incidents: list[dict[str, Any]]
) -> Iterator[ClientRow]:
    why = {str(one["client"]): str(one["what"]) for one in incidents}
    took = {str(client["name"]): int(client["rounds"]) for client in profile["clients"]}
    for name in sorted({*took, *model["bytes_sent"], *why}):
        sent = data_size(int(model["bytes_sent"].get(name, 0)))
        part = name in took
        standing, tone = ("took part", Tone.CALM) if part else ("left out", Tone.ALARM)
        yield ClientRow(name, standing, None, took.get(name, 0), sent, why.get(name, ""), tone)


def _privacy(privacy: Mapping[str, Any]) -> Iterator[str]:
    yield f"Tier {privacy['tier']}. {privacy['guarantee']}"
    if privacy.get("advice"):
        yield str(privacy["advice"])


def _warnings(
    model: Mapping[str, Any], incidents: list[dict[str, Any]]
) -> Iterator[tuple[str, str]]:
    if model.get("caveat"):
        yield str(model["created"]), f"{model['caveat']}."
    for one in reversed(incidents[-50:]):
        place = f"{one['plan']}, round {one['round'] + 1}"
        yield str(one.get("when", "")), f"{one['client']}: {one['what']} ({place})"


def _axis(axis: Mapping[str, Any]) -> str:
    loadings = sorted(axis["loadings"].items(), key=lambda pair: -abs(pair[1]))[:_LOADINGS]
    words = [f"{'more' if weight > 0 else 'less'} {name}" for name, weight in loadings if weight]
    return f"{axis['share']:.0%} of the variance: {', '.join(words)}"
