"""How `make docs` builds the site; its source is the repository."""

import sys
import warnings
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(HERE))
warnings.filterwarnings("ignore", category=DeprecationWarning)

from site_files import setup  # noqa: E402, F401

import fedclust  # noqa: E402

project, author = "fedclust", "The fedclust developers"
version = release = fedclust.__version__
copyright = "2026, the fedclust developers"

root_doc = "docs/index"
include_patterns = ["docs/**", "README.md", "CONTRIBUTING.md", "ARCHITECTURE.md", "CHANGELOG.md"]
exclude_patterns = [
    ".venv", ".git", "build", "src", "tests", "benchmarks", "papers", "docs/site", "docs/gallery/*",
    "**/sg_execution_times.rst", "docs/pictures/*.md",
]  # fmt: skip
extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
default_role = "literal"  # docstrings write code between single backquotes
nitpicky = False

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 4
suppress_warnings = ["config.cache", "misc.highlighting_failure", "myst.xref_missing_reference"]

autodoc_typehints = "signature"
autodoc_member_order = "bysource"
toc_object_entries_show_parents = "hide"
autodoc_preserve_defaults = True
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

sphinx_gallery_conf = {
    "examples_dirs": [str(ROOT / "docs" / "gallery")],
    "gallery_dirs": [str(ROOT / "docs" / "examples")],
    "reset_modules": ("matplotlib", "site_files.gallery_look"),
    "filename_pattern": r"\.py$",
    "download_all_examples": False,
    "remove_config_comments": True,
    "show_memory": False,
    "capture_repr": (),
    "within_subsection_order": "FileNameSortKey",
    "write_computation_times": False,
    "min_reported_time": 10_000,
    "thumbnail_size": (360, 240),
    "abort_on_example_error": True,
    "show_signature": False,
    "backreferences_dir": None,
}

html_theme = "pydata_sphinx_theme"
html_title = "fedclust"
html_static_path = ["static"]
templates_path = ["templates"]
html_css_files = ["site.css"]
html_context = {"default_mode": "auto"}
html_copy_source = False
html_show_sourcelink = False
html_use_index = True
html_permalinks_icon = "#"
html_theme_options = {
    "logo": {"text": "fedclust"},
    "navbar_align": "left",
    "show_prev_next": False,
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "search_bar_text": "Ask a question…",
    "navbar_end": ["theme-switcher"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
    "pygments_light_style": "default",
    "pygments_dark_style": "github-dark",
}
html_sidebars = {"docs/index": [], "search": []}
