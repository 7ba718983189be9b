"""``fedclust approve``: decide which studies a client takes part in."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from ..core import ConfigError
from .asking import Answer, ask, describe_pending, show_pending, show_words
from .printing import HASH_DIGITS, cell, show

if TYPE_CHECKING:
    from ..client.config import ClientConfig
    from ..follow.decisions import Approvals, Decision

_FEWEST_DIGITS = HASH_DIGITS  # fewer could be those of another study, made for the purpose
_EFFECT = {
    "approved": "This client follows it.",
    "refused": "This client does not take part in it.",
}


def approve(
    kit: Annotated[Path, typer.Argument(help="Folder of the client's kit.")],
    hash: Annotated[
        str | None, typer.Argument(help="Hash of one study, or its first 16 digits or more.")
    ] = None,
    yes: Annotated[
        bool, typer.Option("--yes", help="Approve the study of this hash or file, without asking.")
    ] = False,
    refuse: Annotated[
        bool,
        typer.Option(
            "--refuse", help="Refuse the study of this hash or file, also one approved before."
        ),
    ] = False,
    listed: Annotated[bool, typer.Option("--list", help="List the decisions so far.")] = False,
    study: Annotated[
        Path | None,
        typer.Option(help="Decide about a study ahead of time, from the coordinator's study file."),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print as JSON, and ask nothing.")
    ] = False,
) -> None:
    """Decide about studies: show each one that waits, in words, and ask.

    A client asks its owner if `client.toml` has `approval = "ask"` under `[consent]`. The hash
    stands for all settings of a study and for the version of fedclust. The coordinator sees the
    same hash.
    """
    from ..client.config import CLIENT_FILE, read_client_config
    from ..follow.decisions import Approvals

    config = read_client_config(kit / CLIENT_FILE)
    approvals, console = Approvals(kit), Console()
    _refuse_contradictions(hash=hash, yes=yes, refuse=refuse, listed=listed, study=study)
    if listed:
        _list_decisions(console, list(approvals.decisions()), as_json=as_json)
    elif study is not None or hash is not None:
        answer = Answer.YES if yes else Answer.NO if refuse else None
        _decide_one(console, config, approvals, study or hash, answer, as_json=as_json)
    elif as_json:
        typer.echo(json.dumps(_pending_json(approvals)))
    else:
        _ask_about_all(console, config, approvals, kit)


def _refuse_contradictions(
    *, hash: str | None, yes: bool, refuse: bool, listed: bool, study: Path | None
) -> None:
    if yes and refuse:
        raise ConfigError("--yes and --refuse contradict each other; give one of them")
    if hash is not None and study is not None:
        raise ConfigError("give a hash or --study, not both: the hash is computed from the file")
    if listed and (yes or refuse or hash is not None or study is not None):
        raise ConfigError("--list only lists decisions; leave out the rest")
    if (yes or refuse) and hash is None and study is None:
        flag = "--yes" if yes else "--refuse"
        raise ConfigError(f"{flag} needs the hash of one study, or its file with --study")


def _list_decisions(console: Console, decisions: "list[Decision]", *, as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps({"decisions": [asdict(one) for one in decisions]}))
        return
    if not decisions:
        show(console, "No study has been decided about.")
        return
    table = Table("when (UTC)", "by", "study", "hash", "decision")
    for one in decisions:
        when = one.when[:19].replace("T", " ")
        row = (when, one.by, one.study, one.hash[:HASH_DIGITS], one.decision)
        table.add_row(*map(cell, row))
    console.print(table)
    show(console, "The last decision about a hash counts.")


def _pending_json(approvals: "Approvals") -> dict[str, Any]:
    return {
        "pending": [
            {"study": one.study.path.stem, "hash": one.hash, "words": list(describe_pending(one))}
            for one in approvals.pending()
        ],
        "decisions": [asdict(one) for one in approvals.decisions()],
    }


def _ask_about_all(
    console: Console, config: "ClientConfig", approvals: "Approvals", kit: Path
) -> None:
    pending = approvals.pending()
    if config.consent.approval != "ask":
        show(
            console,
            'client.toml has approval = "rules": this client follows every study within its rules, '
            'without asking. Set approval = "ask" under [consent] to be asked.',
        )
    if not pending:
        show(console, "No study waits for a decision.")
    for one in pending:
        show_pending(console, one)
        answer = ask(console)
        if answer is Answer.LATER:
            show(console, f"Not decided. The study waits; decide with: fedclust approve {kit}")
            continue
        made = approvals.decide(one.study.path.stem, one.hash, approved=answer is Answer.YES)
        _confirm(console, made, as_json=False)


def _decide_one(
    console: Console,
    config: "ClientConfig",
    approvals: "Approvals",
    which: Path | str | None,
    answer: Answer | None,
    *,
    as_json: bool,
) -> None:
    """Decide about the study of a file or of a hash; without an answer, show it and ask."""
    if answer is None and as_json:
        raise ConfigError("--json asks nothing; add --yes or --refuse")
    if isinstance(which, Path):
        found = _Found.of_file(config, which, refusing=answer is Answer.NO)
    else:
        found = _Found.of_hash(approvals, str(which))
    if not as_json:
        show_words(console, found.words)
    if answer is None:
        answer = ask(console)
    if answer is Answer.LATER:
        show(console, "Not decided.")
        return
    made = approvals.decide(found.name, found.hash, approved=answer is Answer.YES)
    _confirm(console, made, as_json=as_json)


class _Found:
    """A study to decide about."""

    def __init__(self, name: str, hash: str, words: list[str]) -> None:
        self.name, self.hash, self.words = name, hash, words

    @classmethod
    def of_file(cls, config: "ClientConfig", file: Path, *, refusing: bool) -> "_Found":
        """The study in a file that the coordinator has sent."""
        from ..core import Refusal
        from ..follow.approval import read_mailed_study, study_hash
        from ..follow.rules import allow_mailed_study
        from ..follow.words import describe_study

        study = read_mailed_study(file)
        if not refusing:
            try:
                allow_mailed_study(config, study)
            except Refusal as refusal:
                raise ConfigError(f"this client would refuse the study: {refusal}") from None
        return cls(study.path.stem, study_hash(study), list(describe_study(study)))

    @classmethod
    def of_hash(cls, approvals: "Approvals", digits: str) -> "_Found":
        """The study that waits under a hash, or one that was decided about before."""
        wanted = digits.casefold()
        if len(wanted) < _FEWEST_DIGITS or set(wanted) - set("0123456789abcdef"):
            raise ConfigError(
                f"{digits!r} is not the hash of a study: give at least {_FEWEST_DIGITS} of its "
                "digits, 0 to 9 and a to f"
            )
        pending = {one.hash: one for one in approvals.pending()}
        decided = {one.hash: one for one in approvals.decisions()}
        found = [hash for hash in {**pending, **decided} if hash.startswith(wanted)]
        if len(found) > 1:
            raise ConfigError(f"several studies have a hash that begins with {digits}; give more")
        if not found:
            names = ", ".join(f"{p.study.path.stem} ({h})" for h, p in pending.items()) or "none"
            raise ConfigError(
                f"no study with the hash {digits} waits for a decision (waiting: {names}); to "
                "decide ahead of time, give its file with --study"
            )
        hash = found[0]
        if hash in pending:
            one = pending[hash]
            return cls(one.study.path.stem, hash, list(describe_pending(one)))
        before = decided[hash]
        words = f"The study {before.study!r} was {before.decision} on {before.when[:10]}."
        return cls(before.study, hash, [words])


def _confirm(console: Console, made: "Decision", *, as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps(asdict(made)))
        return
    what = f"{made.decision.capitalize()}: {made.study!r}, hash {made.hash}."
    show(console, f"{what} {_EFFECT[made.decision]}")
