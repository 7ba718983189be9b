"""Render the page from its templates."""

import base64
import hashlib
from importlib.resources import files
from pathlib import Path
from typing import Any

from ..core import ConfigError
from ..core.files import write_text
from . import amounts, words
from .cluster_map import cluster_map
from .downloads import downloads
from .features import features
from .figures import deciding, scores, shifts
from .findings import cards, summary
from .folder import RunFiles, read_run
from .missing_table import missing_table
from .naming import cluster_names, study_words
from .profile_table import profile_table
from .tree import shape_words, tree_figure

_PARTS = files(__package__) / "parts"
_SHOWN_FEATURES = 15  # in the open; the others are collapsed


def write_report(folder: Path) -> Path:
    """Write report.html into a run folder, from the files in it."""
    target = Path(folder) / "report.html"
    write_text(target, render(read_run(Path(folder))))
    return target


def render(run: RunFiles) -> str:
    """The report of a run as one self-contained HTML page."""
    try:
        import jinja2
    except ImportError:
        raise ConfigError("the report needs jinja2: pip install 'fedclust[study]'") from None
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(_part),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters |= {
        "count": amounts.count,
        "digits": amounts.digits,
        "share": amounts.share,
        "data_size": amounts.data_size,
    }
    page, script = environment.get_template("page.html"), _part("page.js")
    hash = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return page.render(style=_part("page.css"), script=script, script_hash=hash, **context(run))


def _part(name: str) -> str:
    return (_PARTS / name).read_text(encoding="utf-8")


def context(run: RunFiles) -> dict[str, Any]:
    """The variables of the template."""
    columns, study = features(run), study_words(run)
    names = cluster_names(run, columns)
    choice = run.choice
    figures = {
        "map": cluster_map(run, columns),
        "shifts": shifts(run),
        "choice": list(zip(choice.measured, scores(choice), strict=True)) if choice else [],
        "deciding": deciding(choice) if choice else (),
        "tree": tree_figure(run.summary, len(run.model.ids)) if run.summary else None,
    }
    table, limit = profile_table(run, columns)
    return {
        "run": run,
        "title": study.title,
        "description": study.description,
        "tables": study.tables,
        "who": "owner" if run.columns_split else "client",
        "one": "record" if run.columns_split else "row",
        "model": run.model,
        "about": run.about,
        "profile": run.profile,
        "choice": choice,
        "features": columns,
        "cards": cards(run, columns, names),
        "summary": summary(run, columns),
        "figures": figures,
        "table": table,
        "limit": limit,
        "missing": missing_table(run, columns),
        "has_effects": any(cell.side for row in table for cell in row.cells),
        "shown_features": _SHOWN_FEATURES,
        "downloads": downloads(run, columns, names),
        "shapes": shape_words(run.summary, len(run.model.ids)) if run.summary else "",
        "words": words,
        "amounts": amounts,
    }
