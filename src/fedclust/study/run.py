"""Run a study: survey, prepare, cluster, describe, and leave labels with each client."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ..client.labels import check_label_format, refuse_unwritable
from ..client.requests import Written
from ..clustering.alignment import LOCAL_SECRET
from ..clustering.choose_k import Choice
from ..clustering.model import Model
from ..clustering.summary import publish
from ..core import ConfigError
from ..core.extras import install_command
from ..data.ids import secret_bytes
from ..data.plausible import ask_for_bounds
from ..progress import ProgressLog
from ..results import RunProfile
from .describe_run import describe_absent, describe_run
from .inputs import digest_match
from .journal import Journal, OnRound
from .layouts import Layout, Survey, layout_of
from .layouts.base import Clustered, Described, add_counts
from .needs import check_extras, find_missing_extras
from .notes import describe_files, explain_dropped
from .phases import OnPhase, Phase
from .pool import ClientPool, LocalPool, open_pool
from .progress import StudyProgress
from .read import resolve_tier
from .run_directory import RunDirectory
from .settings import Study


@dataclass(frozen=True, eq=False)
class Outcome:
    """The results of a study, and where they are written."""

    folder: Path
    model: Any  # a Model, or over split columns a ColumnsModel
    profile: RunProfile
    clustering: Any  # a Clustering, or a ColumnClustering
    labels: Mapping[str, Path | str]  # by client; the files stay with the client
    choice: Choice | None  # of the number of clusters, with n_clusters = "auto"
    used: int | None  # rows that took part; None: the tier hides it
    offered: Mapping[str, int | None]  # rows of each client that could have taken part

    @property
    def rows(self) -> int | None:
        """Rows of all clients; None: the tier hides it."""
        return add_counts(self.offered.values())

    def __repr__(self) -> str:
        page = self.folder / "report.html"
        return f"<Outcome: {len(self.model.ids)} clusters; see {page}>"


def run_study(
    study: Study,
    folder: Path,
    *,
    force: bool = False,
    resume: bool = False,
    match: Model | None = None,
    secret: str | bytes | None = None,
    on_phase: OnPhase | None = None,
    on_round: OnRound | None = None,
) -> Outcome:
    """Run the study in this process and write its folder, completely or not at all.

    With `match` clusters keep the numbers of an earlier run. Over split columns, `secret` is the
    secret of a run across machines; with it both runs have the same result, bit for bit.
    """
    layout = layout_of(study)
    if absent := find_missing_extras(study, resolve_tier(study, LocalPool.default_tier)):
        raise ConfigError(f"the run needs more packages: {install_command(absent)}")
    directory = RunDirectory(study, folder, force=force, resume=resume)
    targets = directory.label_files(layout.label_format)
    for client, target in targets.items():
        check_label_format(target)
        if study.outputs.labels_in == "data":
            refuse_unwritable(client, target)
    pool = _open_pool(layout, targets, secret)
    return carry_out(study, pool, directory, match=match, on_phase=on_phase, on_round=on_round)


def survey_study(study: Study) -> Survey:
    """All problems of all clients at once; nothing is computed."""
    layout = layout_of(study)
    tier = resolve_tier(study, LocalPool.default_tier)
    pool = _open_pool(layout, {}, None)
    survey = layout.survey(pool, tier)
    problems = (*survey.problems, *check_extras(study, tier))
    notes = [*describe_files(pool, survey), *explain_dropped(study, tier, survey)]
    if study.estimates:
        unknown = [(c.name, c.unit) for c in survey.columns if c.box is None]
        notes += filter(None, [ask_for_bounds(unknown)])
    return replace(survey, problems=problems, notes=tuple(notes))


@dataclass(frozen=True, eq=False)
class Steps:
    """The results of the steps of a study, as every participant can compute them."""

    survey: Survey
    prepared: Any
    clustered: Clustered
    described: Described
    written: Mapping[str, Written]  # by client


def take_steps(
    study: Study,
    pool: ClientPool,
    open_journal: Callable[[], Journal],
    *,
    match: Model | None = None,
    on_phase: OnPhase | None = None,
) -> Steps:
    """Survey, prepare, cluster, describe, deliver: a function of the study and of replies alone.

    The server takes these steps over its clients. Clients that follow a study take them as well,
    over the replies that everybody has seen.
    """
    enter = on_phase or (lambda phase: None)
    layout = layout_of(study)
    tier = resolve_tier(study, pool.default_tier)
    enter(Phase.READING)
    survey = layout.survey(pool, tier)
    survey.refuse_problems()
    layout.check_match(match, survey)
    journal = open_journal()
    journal.check_unchanged(
        "match.txt", digest_match(match), "the run that --match-run names has changed"
    )
    enter(layout.preparing)
    prepared = layout.prepare(pool, survey, tier, journal)
    clustered = layout.cluster(prepared, tier, journal)
    enter(Phase.DESCRIBING)
    described = layout.describe(pool, prepared, clustered, tier, journal, match)
    enter(Phase.LABELLING)
    written = layout.deliver(pool, prepared, described)
    return Steps(survey, prepared, clustered, described, written)


def carry_out(
    study: Study,
    pool: ClientPool,
    directory: RunDirectory,
    *,
    match: Model | None = None,
    on_phase: OnPhase | None = None,
    on_round: OnRound | None = None,
    study_hash: str = "",
    progress: StudyProgress | None = None,
) -> Outcome:
    """Take the steps of a study, wherever its clients are, and write the folder of the run.

    `study_hash` is that of a study that all clients follow. Without `progress` it is written into
    the unfinished folder.
    """
    layout, tier = layout_of(study), resolve_tier(study, pool.default_tier)
    journals: list[Journal] = []
    watched = progress or StudyProgress(ProgressLog(directory.progress), study, tier)
    watched.show_to(on_phase, on_round)

    def open_journal() -> Journal:
        journals.append(directory.journal(watched.round, saves=not pool.replays))
        watched.begin()
        return journals[0]

    with watched.ending():
        steps = take_steps(study, pool, open_journal, match=match, on_phase=watched.enter)
    clustered, described = steps.clustered, steps.described
    labels = {client: directory.final_path(w.path or w.file) for client, w in steps.written.items()}
    effect = layout.find_effect(steps.prepared, clustered.requested, tier)
    algorithms, records = (clustered.requested, clustered.found), journals[0].records
    absent = describe_absent(steps.survey.absent)
    caveat = "; ".join(filter(None, (described.caveat, absent)))
    about = describe_run(study, *algorithms, tier, records, directory.run_id, effect, match, caveat)
    model = layout.complete(described, replace(about, study_hash=study_hash))
    history = described.precision.round_history(clustered.history)
    summary = clustered.choice.summary if clustered.choice else None
    few = described.precision.few
    shown = publish(summary, few, model.preparation) if summary else None
    evidence = clustered.choice.summarize() if clustered.choice else None
    evidence = described.precision.round_choice(evidence) if evidence else None
    directory.finish(model, history, described.profile, evidence, shown)
    return Outcome(
        directory.path,
        model,
        described.profile,
        clustered.found,
        labels,
        clustered.choice,
        described.used,
        layout.count_offered(steps.survey),
    )


def _open_pool(
    layout: Layout, targets: Mapping[str, Path], secret: str | bytes | None
) -> LocalPool:
    shared = LOCAL_SECRET if secret is None else secret_bytes(secret)
    return open_pool(layout.study, targets, make_policy=layout.make_policy, secret=shared)
