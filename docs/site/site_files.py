"""What the site has besides pages: data of the search, llms.txt, Markdown twins, a front door."""

import importlib
import inspect
import json
import logging
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sections import Section, all_sections, pages, plain, read_words

ROOT = Path(__file__).parents[2]
_BLOCK = re.compile(r"^```\{eval-rst\}\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_AUTO = re.compile(r"^\.\. auto(\w+):: (\S+)\n((?:   .*\n)*)", re.MULTILINE)
_DOOR = (
    '<!doctype html><meta charset="utf-8"><title>fedclust</title>'
    '<meta http-equiv="refresh" content="0; url=docs/index.html">'
    '<a href="docs/index.html">fedclust</a>\n'
)


def setup(app: Any) -> dict[str, bool]:
    """Write these files when a site has been built."""
    app.connect("build-finished", write_files)
    app.connect("autodoc-skip-member", skip)
    app.connect("autodoc-process-signature", describe_parameters)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def gallery_look(conf: Any, name: str) -> None:
    """Draw the examples in the colours of the report; the note on compiling is not part of them."""
    from cycler import cycler
    from matplotlib import rcParams

    from fedclust.report.colours import PALETTE

    logging.getLogger("fedclust").setLevel(logging.ERROR)
    rcParams["axes.prop_cycle"] = cycler(color=PALETTE)
    rcParams["axes.spines.top"] = rcParams["axes.spines.right"] = False


def skip(app: Any, what: str, name: str, *others: Any) -> bool | None:
    """Leave out the methods that scikit-learn adds to every estimator for its own routing."""
    return True if name.startswith("set_") and name.endswith("_request") else None


def describe_parameters(
    app: Any, what: str, name: str, one: Any, options: Any, signature: str, result: str
) -> tuple[str, str] | None:
    """The parameters of a class whose ``__new__`` takes any, so that it can name wrong ones."""
    if what == "class" and signature.startswith("(*args"):
        return _signature(one), result
    return None


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
            twin.write_text(twin_text(file), encoding="utf-8")


def search_data(sections: list[Section]) -> str:
    """A script with all sections, which a page that was opened from a file can load."""
    rows = [[s.page, s.title, s.heading, s.anchor, s.text, s.kind, s.asked] for s in sections]
    data = {"FEDCLUST_WORDS": read_words(), "FEDCLUST_SECTIONS": rows}
    lines = (f"window.{k} = {json.dumps(v, separators=(',', ':'))};\n" for k, v in data.items())
    return "".join(lines)


def llms_text(sections: list[Section]) -> str:
    """An overview for language models: each page with its Markdown twin and its first sentence."""
    lines = [
        "# fedclust",
        "",
        "> Federated clustering for Python: cluster the data of several owners without moving a "
        "row. k-means and fuzzy c-means over rows or columns that are split between owners.",
    ]
    groups = {"front": "The repository", "menu": "Start", "how-to": "How do I"}
    groups |= {"answer": "Questions", "page": "Guides", "record": "Records"}
    first = {s.page: s for s in reversed(sections) if s.kind in groups}
    for kind, title in groups.items():
        lines += ["", f"## {title}", ""]
        for page in sorted(page for page, section in first.items() if section.kind == kind):
            sentence = first_sentence((ROOT / f"{page}.md").read_text(encoding="utf-8"))
            lines.append(f"- [{first[page].title}]({page}.md){sentence and f': {sentence}'}")
    return "\n".join(lines) + "\n"


def first_sentence(text: str) -> str:
    """The first sentence of a page's first paragraph; empty if it begins otherwise."""
    text = re.sub(r"^(```+|:::+).*?^\1`*:*$", "", text, flags=re.MULTILINE | re.DOTALL)
    paragraphs = (part.strip() for part in re.split(r"\n\s*\n", text))
    found = next((one for one in paragraphs if one and one[0] not in "#|-*>%(<!1"), "")
    sentence = re.split(r"(?<=[.?!])\s", plain(found))[0]
    return sentence[:197] + "..." if len(sentence) > 200 else sentence


def twin_text(file: Path) -> str:
    """A page in Markdown, with the names that a reference describes."""
    text = file.read_text(encoding="utf-8")
    return _BLOCK.sub(lambda block: "\n".join(_described(block[1])), text)


def _described(block: str) -> Iterator[str]:
    """What the directives of a block describe."""
    for kind, path, options in _AUTO.findall(block):
        if kind != "module":
            yield from _describe(*path.rsplit(".", 1))
        elif ":members:" in options:
            for name in importlib.import_module(path).__all__:
                yield from _describe(path, name)


def _describe(module: str, name: str) -> Iterator[str]:
    """A name with its docstring and methods."""
    one = getattr(importlib.import_module(module), name)
    if not callable(one):
        yield f"## {module}.{name}\n"
        return
    yield f"## {module}.{name}{_signature(one)}\n\n{inspect.getdoc(one) or ''}\n"
    for key, method in inspect.getmembers(one) if inspect.isclass(one) else ():
        ours = str(getattr(method, "__module__", "")).startswith("fedclust")
        if ours and not key.startswith("_") and callable(method):
            yield f"### {name}.{key}{_signature(method)}\n\n{inspect.getdoc(method) or ''}\n"


def _signature(one: Any) -> str:
    """The parameters with their defaults; the docstring has their types."""
    try:
        found = inspect.signature(one)
    except (TypeError, ValueError):
        return ""
    bare = [p.replace(annotation=p.empty) for p in found.parameters.values()]
    return str(found.replace(parameters=bare, return_annotation=found.empty))
