"""Sentences and names for the report."""

from ..algorithms.registry import summary
from ..clustering.choose_k.score import EVIDENCE
from ..clustering.model import ColumnsModel
from ..metrics import INDICES, Measure, simplified_silhouette
from ..metrics.likelihood import FIT
from ..results import RunProfile
from .amounts import data_size, digits, listed, plain, several
from .folder import RunFiles

_DIGITS = 1e-6  # indices that differ by less are the same


def index_name(index: str) -> str:
    """Title of an index; its key if the index is not installed."""
    measure = _measure(index)
    return measure.title if measure else index


def index_meaning(index: str) -> str:
    """What an index measures; empty if the index is not installed."""
    measure = _measure(index)
    return measure.meaning if measure else ""


def _measure(index: str) -> Measure | None:
    return EVIDENCE.get(index) or FIT.get(index) or INDICES.get(index)


def algorithm_words(algorithm: str) -> str:
    """One-sentence description of the algorithm."""
    return summary(algorithm)


def settings(run: RunFiles) -> list[tuple[str, str]]:
    """Settings of the algorithm, except arrays."""
    return [
        (name, _setting(value))
        for name, value in run.about.settings.items()
        if name != "n_clusters" and isinstance(value, str | int | float)
    ]


def _setting(value: str | float) -> str:
    """A value of a setting, without the last digits of a number that was computed."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def exactness(run: RunFiles) -> str:
    """How the result relates to that on pooled data."""
    if run.columns_split:
        return (
            "Lossless: the result equals that of the same algorithm on one table with all columns."
        )
    if run.about.lossless:
        return "Lossless: the result equals that of the same algorithm on one table with all rows."
    return "Approximate: the result can differ from that on one table with all rows."


def compares(run: RunFiles) -> bool:
    """Whether indices of pooled rows say more than those of the run."""
    difference = _difference(run)
    return difference is not None and (not run.about.lossless or difference > _DIGITS)


def _difference(run: RunFiles) -> float | None:
    """The largest difference of an index from that of pooled rows, as a share of it."""
    pairs = [(q.value, q.pooled) for q in run.profile.quality]
    known = [(v, p) for v, p in pairs if v is not None and p is not None]
    return max((abs(v - p) / max(abs(p), 1e-12) for v, p in known), default=None)


def quality_words(run: RunFiles) -> str:
    """Compare the federated values with the pooled ones."""
    difference = _difference(run)
    if difference is None:
        if run.about.lossless:
            return (
                "The algorithm is lossless, so these values equal those of the pooled rows, "
                "which were not computed."
            )
        return "The pooled values were not computed."
    if difference > _DIGITS:
        return f"The largest difference from a pooled value is {_percent(difference)} of it."
    if run.about.lossless:
        return "The algorithm is lossless, so these values equal those of the pooled rows."
    return "The federated and pooled values agree to six digits."


# Least silhouettes, and how Kaufman and Rousseeuw (Finding Groups in Data, 1990) read them.
_READINGS = ((0.7, "strong"), (0.5, "reasonable"), (0.25, "weak"), (-1.0, "no substantial"))


def reading_aid(run: RunFiles) -> str:
    """How a silhouette is usually read; empty if there is none."""
    found = {q.index: q.value for q in run.profile.quality}
    value = found.get(simplified_silhouette.name)
    if value is None:
        return ""
    reading = next(word for least, word in _READINGS if value >= least)
    return (
        f"A silhouette of {value:.2f} is usually read as {reading} structure (strong from 0.7, "
        "reasonable from 0.5, weak from 0.25)."
    )


def evidence_title(run: RunFiles) -> str:
    """The strength of the evidence for the clusters, in a word or two."""
    if run.choice is None:
        return "not measured"
    return "weak" if run.choice.weak else "good"


def evidence_words(run: RunFiles) -> str:
    """Why there are this many clusters, in a few sentences."""
    if run.choice is not None:
        return run.choice.why
    aid = reading_aid(run)
    return (
        f"The number was given as {len(run.profile.clusters)}, so this run has no evidence that "
        "the data have that many clusters."
        f"{' ' + aid if aid else ''}"
    )


def sent_words(run: RunFiles, who: str) -> str:
    """What a client sent in all: its messages and its bytes."""
    sizes = sorted(run.about.bytes_sent.values())
    if not sizes or not sizes[-1]:
        return ""
    rounds = several(all_rounds(run), "round")
    each = " to ".join(dict.fromkeys((data_size(sizes[0]), data_size(sizes[-1]))))
    return f"In {rounds}, each {who} sent {each} in messages, and no row."


def all_rounds(run: RunFiles) -> int:
    """Rounds of all phases; those of the clustering if the phases are not known."""
    return sum(phase.rounds for phase in run.profile.phases) or run.about.rounds


def _percent(part: float) -> str:
    return f"{100 * part:.2g}%" if part < 0.1 else f"{plain(100 * part, 0)}%"


def coverage_words(profile: RunProfile, tier: str) -> str:
    """Which rows the sizes and statistics of clusters cover; empty if there are none."""
    if profile.coverage == "all":
        return "Sizes and statistics of clusters cover every row that took part."
    if profile.coverage == "replied":
        return (
            "Sizes and statistics of clusters are incomplete: some clients did not reply to the "
            "last queries."
        )
    if profile.coverage == "released":
        return (
            f"Sizes and statistics of clusters are incomplete: with the tier {tier!r}, clients "
            "withhold part of them."
        )
    return ""


def withheld_words(profile: RunProfile) -> str:
    """How much of the counts by client and cluster is withheld; empty if nothing is."""
    if profile.withheld is None:
        return "No counts by client and cluster are published."
    if not profile.withheld.cells:
        return ""
    n = sum(len(cluster.by_client) for cluster in profile.clusters)
    return (
        f"{profile.withheld.cells:,} of {several(n, 'count')} by client and cluster, with "
        f"{several(profile.withheld.rows, 'row')} in all, are withheld: counts below "
        f"{profile.minimum}, and others from which these could be computed."
    )


def agreement_words(profile: RunProfile) -> str:
    """How far the clusters are the clients; empty if that is not known."""
    if profile.agreement is None:
        return ""
    agreement = round(profile.agreement, 2) + 0.0  # no minus before zero
    return (
        f"The agreement of clusters and clients is {agreement:.2f} (adjusted Rand index; "
        "0: none, 1: each cluster is a client)."
    )


def missing_words(partial: bool) -> str:
    """What a clustering of rows with missing cells assumes; empty if rows are complete."""
    if not partial:
        return ""
    return (
        "Rows took part with the values that they have. This assumes that cells are missing at "
        "random. Where a client lacks a column because its rows differ from others, clusters can "
        "reflect clients."
    )


def rounding_words(profile: RunProfile, *, publishes_all: bool) -> str:
    """What is rounded, and why; empty if nothing is."""
    if not profile.rounded:
        return ""
    if not publishes_all:
        return (
            "Centres, means, deviations and indices are rounded, so that "
            f"{several(profile.minimum, 'row')} more or fewer make no visible difference."
        )
    return (
        "Means and deviations are rounded: they are of other rows than the centres or the scale, "
        "and exact differences could reveal single rows."
    )


def moved(run: RunFiles) -> str:
    """The quantity whose shift a round records."""
    return "root distances" if run.columns_split else "centres"


def convergence_words(run: RunFiles) -> str:
    """How the run ended."""
    rounds = several(run.about.rounds, "round")
    known = [line.shift for line in run.history if line.shift is not None]
    end = f"; in the last one the {moved(run)} moved by {known[-1]:.2g}" if known else ""
    if run.about.ended_by_tier:
        tier = run.about.privacy.tier
        return f"The run stopped after {rounds}, the limit of the tier {tier!r}{end}."
    if run.about.converged:
        return f"The run converged after {rounds}."
    return f"The run stopped after {rounds} before it converged{end}."


def stillness_words(run: RunFiles) -> str:
    """Why no movement is drawn; empty if some is."""
    known = [line.shift for line in run.history if line.shift is not None]
    if not known:
        return f"The rounds do not record how far the {moved(run)} moved."
    return "" if any(known) else f"It began with the final {moved(run)}: none of them moved."


def preparation_words(run: RunFiles) -> list[str]:
    """How the columns were prepared."""
    if isinstance(run.model, ColumnsModel):
        return []
    ready = run.model.preparation
    words = []
    if (ready.offset != 0).any() or (ready.scale != 1).any():
        words.append("Columns were shifted and scaled, by the same values at every client.")
    logs = [column.name for column in ready.columns if column.log]
    if logs:
        words.append(f"Logarithms were taken of {listed(logs)}.")
    derived = [f"{column.name} ({column.derive})" for column in ready.columns if column.derive]
    if derived:
        words.append(f"Numbers were derived from dates: {listed(derived)}.")
    if ready.fill is not None:
        words.append("Missing values were filled in.")
    return [*(words or ["Columns were not transformed."]), *_bounds_words(run)]


def _bounds_words(run: RunFiles) -> list[str]:
    """Bounds that were estimated, and how many values were clipped."""
    found = run.profile.estimated
    if not found:
        return []
    each = [
        f"{one.name} from {digits(one.low)} to {digits(one.high)} {one.unit}".rstrip()
        for one in found
    ]
    words = [
        f"Bounds were estimated from counts of values in bins: {listed(each)}. Values beyond count "
        "as the nearest bound"
    ]
    beyond = [f"{several(one.beyond, 'value')} of {one.name}" for one in found if one.beyond]
    if beyond:
        about = "" if run.about.privacy.publishes_all else "about "
        words[0] += f": {about}{listed(beyond)}"
    elif all(one.beyond == 0 for one in found):
        words[0] += "; there are none"
    return [f"{words[0]}."]


def ledger_words(run: RunFiles) -> str:
    """How many queries the study took of those that a data set answers; empty without a limit."""
    most = run.about.privacy.parameters.get("max_queries")
    if most is None:
        return ""
    rounds = sum(phase.rounds for phase in run.profile.phases)
    words = (
        f"Ledger: the rounds of this study are {rounds} of the {most} queries that a data set "
        "answers. Across machines, the check of the data and the labels count as well."
    )
    if run.summary is None:
        return words
    return (
        f"{words} {run.summary.queries} of them learned the summary, which other studies over the "
        "same rows and scale need not ask for again."
    )
