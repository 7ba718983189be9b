"""A study in words, for the owner of a client's data and for a data-protection officer."""

from collections.abc import Iterator, Sequence

from .. import __version__
from ..clustering.preparation import Column
from ..clustering.rows import SUMMARY
from ..clustering.summary import count_micro, count_queries
from ..clustering.summary.noisy import MICRO as NOISY_MICRO
from ..study.conflicts import limit_rounds
from ..study.read import resolve_tier
from ..study.settings import Study, make_algorithm
from ..tiers import Tier
from .approval import DEFAULT_TIER, Following, following_of, study_hash

_RUN = "the names of the clients, and the number of rounds and bytes of each"


def describe_study(study: Study) -> Iterator[str]:
    """What the study does with a client's rows, one sentence or list a line.

    The text of a study is not trusted: nothing of it can move the cursor of a console.
    """
    for line in _describe(study):
        yield "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in line)


def _describe(study: Study) -> Iterator[str]:
    tier, over_columns = resolve_tier(study, DEFAULT_TIER), study.data.split == "columns"
    yield f"Study {study.path.stem!r} under fedclust {__version__}."
    yield f"Hash: {study_hash(study)}"
    yield f"Uses: {_columns(study)}."
    yield f"Computes: {_computes(study, tier)}."
    yield f"Privacy: tier {tier.name!r}. {tier.guarantee.words}"
    if tier.query_limit is not None and not over_columns:
        most = tier.query_limit
        yield f"Queries: at most {most} to your data, those of earlier studies included."
    leaves = _leaves_over_columns() if over_columns else _leaves(study, tier)
    yield f"Leaves your computer: {leaves}."
    yield f"Is published: {_published(study, tier)}."
    yield f"Stays with you: {_stays(study)}."


def announce_hash(study: Study, tier: Tier) -> str:
    """The hash of a study for the coordinator, and what it is good for."""
    name = study.path.stem
    if following_of(study, tier) is Following.NONE:
        return (
            f"clients cannot follow the study {name!r} with tier {tier.name!r}: nothing proves to "
            "them that the server asks what the study file says"
        )
    return f"study {name!r}, hash {study_hash(study)}: the owner of each client can compare it"


def describe_wait(clients: Sequence[str]) -> str:
    """Whose approval the server waits for."""
    if not clients:
        return "all owners have decided"
    return f"waiting for the approval of {', '.join(clients)}"


def _columns(study: Study) -> str:
    if study.features is None:
        return "all numeric columns, except the id"
    names = ", ".join(_column(column, study.estimates) for column in study.features)
    return f"the columns {names}; you hold some of them" if study.data.split == "columns" else names


def _column(column: Column, estimates: bool = False) -> str:
    unit = f" {column.unit}" if column.unit else ""
    if column.low is not None and column.high is not None:
        return f"{column.name} ({column.low:g} to {column.high:g}{unit})"
    if column.categories:
        return f"{column.name} ({', '.join(column.categories)})"
    if estimates:
        return f"{column.name} (bounds from counts in bins{f',{unit}' if unit else ''})"
    return f"{column.name} ({column.unit})" if column.unit else column.name


def _computes(study: Study, tier: Tier) -> str:
    settings, (low, high) = study.clustering, study.n_clusters
    algorithm = make_algorithm(settings, high)
    kind = "fuzzy clustering" if algorithm.soft else "clustering"
    k = f"{low}" if low == high else f"{low} to {high}"
    starts = "one start" if settings.n_init == 1 else f"each of {settings.n_init} starts"
    rounds = limit_rounds(tier, algorithm)
    chosen, summary = (
        "",
        f"a summary of your rows in at most {count_queries(count_micro(high))} rounds",
    )
    if settings.n_clusters == "auto":
        chosen = f", a number that is chosen from {summary}"
    elif settings.init == SUMMARY:
        starts = f"a start that is found in {summary}"
    return (
        f"{kind} with {algorithm.key!r} into {k} {'cluster' if high == 1 else 'clusters'}{chosen}, "
        f"at most {rounds} {'round' if rounds == 1 else 'rounds'} from {starts}"
    )


def _leaves(study: Study, tier: Tier) -> str:
    what = "codes of problems in your files, and in each round sums over your rows"
    if study.estimates:
        what = what.replace("sums", "counts and sums")
    if tier.noisy:
        what += ", with noise that hides any one row"
    if tier.masks:
        what += ", masked so that only the total of all clients can be read"
    return what


def _leaves_over_columns() -> str:
    return (
        "codes of problems in your files, keyed hashes of the ids of your records, and in each "
        "round distances between records, masked so that only the total of all owners can be read"
    )


def _published(study: Study, tier: Tier) -> str:
    if study.data.split == "columns":
        return f"sizes of the clusters, indices of their quality, {_RUN}"
    summary = ""
    if study.clustering.n_clusters == "auto":
        n = NOISY_MICRO if tier.noisy else count_micro(study.n_clusters[1])
        summary = f"a summary with the means and sizes of up to {n} small groups of rows, "
    if tier.noisy:
        return f"centres of the clusters, {summary}{_RUN}"
    return (
        "centres, sizes, means, standard deviations and shapes of the clusters over the rows of "
        f"all clients together, {summary}indices of their quality, {_RUN}. Numbers are rounded so "
        f"that {_few(study.privacy.min_count)} more or fewer, unless they are far from all others, "
        f"make no visible difference, and centres and means of fewer than "
        f"{study.privacy.min_count} rows are withheld"
    )


def _few(n: int) -> str:
    return "one row" if n == 1 else f"{n} rows"


def _stays(study: Study) -> str:
    parts = ["all rows", "their ids"]
    if study.data.split == "columns":
        parts.append("the centres of your own columns")
    if study.outputs.labels != "none":
        parts.append("the cluster of each row, which is written to your folder of labels")
    return f"{', '.join(parts[:-1])} and {parts[-1]}"
