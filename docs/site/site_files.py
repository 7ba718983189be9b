"""What the site has besides pages: data of the search, llms.txt, Markdown twins, a front door."""

import json
import shutil
from pathlib import Path
from typing import Any

from sections import Section, all_sections, pages

ROOT = Path(__file__).parents[2]
_DOOR = (
    '<!doctype html><meta charset="utf-8"><title>fedclust</title>'
    '<meta http-equiv="refresh" content="0; url=docs/index.html">'
    '<a href="docs/index.html">fedclust</a>\n'
)


def setup(app: Any) -> dict[str, bool]:
    """Write these files when a site has been built."""
    app.connect("build-finished", write_files)
    app.connect("autodoc-skip-member", skip)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def skip(app: Any, what: str, name: str, *others: Any) -> bool | None:
    """Leave out the methods that scikit-learn adds to every estimator for its own routing."""
    return True if name.startswith("set_") and name.endswith("_request") else None


def write_files(app: Any, problem: Exception | None) -> None:
    """Write everything into the folder of the site."""
    if problem is None and app.builder.name == "html":
        out = Path(app.outdir)
        sections = list(all_sections(ROOT))
        (out / "_static" / "search-data.js").write_text(search_data(sections), encoding="utf-8")
        (out / "index.html").write_text(_DOOR, encoding="utf-8")
        (out / "llms.txt").write_text(llms_text(sections), encoding="utf-8")
        for file in pages(ROOT):
            twin = out / file.relative_to(ROOT)
            twin.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(file, twin)


def search_data(sections: list[Section]) -> str:
    """A script with all sections, which a page that was opened from a file can load."""
    rows = [[s.page, s.title, s.heading, s.anchor, s.text, s.kind] for s in sections]
    return f"window.FEDCLUST_SECTIONS = {json.dumps(rows, separators=(',', ':'))};\n"


def llms_text(sections: list[Section]) -> str:
    """An overview for language models: each page with its Markdown twin and its first sentence."""
    lines = [
        "# fedclust",
        "",
        "> Federated clustering for Python: the clusters of everybody's data, and no row leaves "
        "its owner. k-means and fuzzy c-means over rows or columns that are split between owners.",
    ]
    groups = {"menu": "Start", "how-to": "How do I", "page": "Guides", "record": "Records"}
    first = {s.page: s for s in reversed(sections) if s.kind in groups}
    for kind, title in groups.items():
        lines += ["", f"## {title}", ""]
        for page in sorted(page for page, section in first.items() if section.kind == kind):
            sentence = first[page].text.split(". ")[0][:200].rstrip(".")
            lines.append(f"- [{first[page].title}]({page}.md): {sentence}.")
    return "\n".join(lines) + "\n"
