"""How the files of a study on this machine are read, and what of them is not used."""

from collections.abc import Iterator
from dataclasses import replace

from ..client.files import ClientFiles, is_index
from ..core import FedclustError
from ..data.kinds import Kind
from ..data.names import near_names
from ..tiers import Tier
from .layouts import Survey, layout_of
from .pool import LocalPool
from .settings import Study

_APART = "not in all files"
_MANY = 0.1  # of the rows


def describe_files(pool: LocalPool, survey: Survey) -> Iterator[str]:
    """One line for each way in which files are read, and one for columns that are not used."""
    opened = list(_open(pool))
    by_text: dict[str, list[str]] = {}
    for files in opened:
        for path, reading in files.readings.items():
            if reading.text:
                by_text.setdefault(reading.text, []).append(path.name)
    for text, names in by_text.items():
        more = f" and {len(names) - 2} others" if len(names) > 3 else ""
        yield f"{', '.join(names[:2] if more else names)}{more}: {text}."
    unused = dict(_unused(opened, survey))
    if unused:
        listed = (f"{name} ({kind})" for name, kind in unused.items())
        yield f"Not used: {', '.join(listed)}."
        apart = {
            files.name: [name for name in files.kinds if unused.get(name) == _APART]
            for files in opened
        }
        yield from (f"{hint}; if they are one column, rename one." for hint in near_names(apart))


def explain_dropped(study: Study, tier: Tier, survey: Survey) -> Iterator[str]:
    """How rows can stay that a study leaves out, or a client that lacks a column."""
    if study.data.missing != "drop" or not _could_be_partial(study, tier):
        return
    known = [counts for counts in survey.counts.values() if counts is not None]
    rows = sum(counts.rows for counts in known)
    dropped = rows - sum(counts.complete for counts in known)
    how = 'missing = "partial" under [data]'
    if any(problem.code == "column-missing" for problem in survey.problems):
        yield f"With {how} a client takes part although it lacks a column."
    elif dropped > _MANY * rows:
        yield (
            f"{dropped:,} of {rows:,} rows have missing values and will be left out. With {how} "
            "all rows take part with the values that they have."
        )


def _could_be_partial(study: Study, tier: Tier) -> bool:
    """Whether the algorithm, the tier and all other settings allow missing cells."""
    layout = layout_of(replace(study, data=replace(study.data, missing="partial")))
    return not [*layout.find_conflicts(), *layout.find_unprotected(tier)]


def _open(pool: LocalPool) -> Iterator[ClientFiles]:
    for session in pool.sessions.values():
        try:
            yield session.files
        except FedclustError:  # reported as a problem of the client
            continue


def _unused(opened: list[ClientFiles], survey: Survey) -> Iterator[tuple[str, Kind | str]]:
    """Columns that are neither features nor ids, and what they hold."""
    used = {column.name for column in survey.columns}
    names = dict.fromkeys(name for files in opened for name in files.kinds)
    for name in names:
        if name in used or is_index(name) or any(name == files.id for files in opened):
            continue
        kinds = {files.kinds[name] for files in opened if name in files.kinds}
        everywhere = all(name in files.kinds for files in opened)
        if everywhere:
            yield name, kinds.pop() if len(kinds) == 1 else " or ".join(sorted(kinds))
        else:
            yield name, _APART
