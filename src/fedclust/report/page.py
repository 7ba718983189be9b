"""Render the page from its templates."""

import json
from importlib.resources import files
from pathlib import Path
from typing import Any

from ..core import ConfigError
from ..core.files import write_text
from . import amounts, words
from .cluster_map import cluster_map
from .features import features
from .figures import Figure, effects, scores, sent, shifts
from .findings import cards, summary
from .folder import RunFiles, read_run
from .tree import shape_words, tree_figure

_PARTS = files(__package__) / "parts"


def write_report(folder: Path) -> Path:
    """Write report.html into a run folder, from the files in it."""
    target = Path(folder) / "report.html"
    write_text(target, render(read_run(Path(folder))))
    return target


def render(run: RunFiles) -> str:
    """The report of a run as one self-contained HTML page."""
    try:
        import jinja2
        from plotly.offline import get_plotlyjs
    except ImportError:
        raise ConfigError(
            "the report needs jinja2 and plotly: pip install 'fedclust[study]'"
        ) from None
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
    page = environment.get_template("page.html")
    return page.render(
        style=_part("page.css"), script=_part("page.js"), plotly=get_plotlyjs(), **context(run)
    )


def _part(name: str) -> str:
    return (_PARTS / name).read_text(encoding="utf-8")


def context(run: RunFiles) -> dict[str, Any]:
    """The variables of the template."""
    columns = features(run)
    figures = {
        "effects": effects(run, columns),
        "map": cluster_map(run, columns),
        "shifts": shifts(run),
        "sent": sent(run),
        "choice": scores(run.choice) if run.choice else [],
        "tree": tree_figure(run.summary, len(run.model.ids)) if run.summary else None,
    }
    return {
        "run": run,
        "who": "owner" if run.columns_split else "client",
        "one": "record" if run.columns_split else "row",
        "model": run.model,
        "about": run.about,
        "profile": run.profile,
        "choice": run.choice,
        "features": columns,
        "cards": cards(run, columns),
        "summary": summary(run, columns),
        "figures": figures,
        "indices": run.choice.measured if run.choice else (),
        "specs": script_json(
            [figure.spec | {"id": figure.id} for figure in _list_figures(figures)]
        ),
        "shapes": shape_words(run.summary, len(run.model.ids)) if run.summary else "",
        "words": words,
        "amounts": amounts,
    }


def _list_figures(figures: dict[str, Any]) -> list[Figure]:
    listed = [one for f in figures.values() for one in (f if isinstance(f, list) else [f])]
    return [figure for figure in listed if figure is not None]


def script_json(value: Any) -> str:
    """JSON that cannot end the script element that contains it."""
    text = json.dumps(value, allow_nan=False, separators=(",", ":"))
    for sign in "<>&":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text
