"""Sphinx's settings: ``make docs`` builds with every warning an error, and runs the doctests.

It also runs the scripts of ``examples/`` and makes the gallery of them, in ``docs/gallery``.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

from sunveil import __version__

# the gallery draws figures of the paper with the reproduction beside the package
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

project = "Sunveil"
author = copyright = "the Sunveil contributors"
version = release = __version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.doctest",
    "sphinx.ext.napoleon",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build"]

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3

# Types stand in annotations only; docstrings are numpydoc with one section of our own.
napoleon_google_docstring = False
napoleon_numpy_docstring = True
napoleon_custom_sections = ["Privacy"]
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_preserve_defaults = True
python_use_unqualified_type_names = True

html_theme = "furo"
html_title = f"Sunveil {release}"
html_static_path = ["_static"]
html_css_files = ["pages.css", "gallery.css"]
html_js_files = ["pages.js"]

# The gallery. Its scripts keep weather and the marks of ledgers where nothing of the reader's is.
_SCRATCH = tempfile.TemporaryDirectory(prefix="sunveil-gallery-")
os.environ["SUNVEIL_CACHE"] = os.path.join(_SCRATCH.name, "cache")
os.environ["XDG_STATE_HOME"] = os.path.join(_SCRATCH.name, "state")
sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"\.py$",
    "subsection_order": ["../examples/infer", "../examples/publish", "../examples/plan"],
    "within_subsection_order": "FileNameSortKey",
    "parallel": 2,
    "abort_on_example_error": True,
    # what plots return is shown as a picture, not as text
    "ignore_repr_types": r"matplotlib\.|dict|tuple|list",
    "image_srcset": ["2x"],
    "thumbnail_size": (600, 420),
    "css": ("sg_gallery", "sg_gallery-dataframe"),
    "remove_config_comments": True,
    "show_signature": False,
    # how long an example takes is another number on every machine
    "min_reported_time": 3600,
    "write_computation_times": False,
}

# The captions of the sidebar are headings without a level, which screen readers need.
CAPTION = 'class="caption" role="heading"'


def level_captions(
    app: Sphinx, page: str, template: str, context: dict[str, Any], tree: object
) -> None:
    """Give the captions of the sidebar their level."""
    context["furo_navigation_tree"] = context.get("furo_navigation_tree", "").replace(
        CAPTION, f'{CAPTION} aria-level="2"'
    )


def setup(app: Sphinx) -> None:
    """Change the sidebar after the theme has made it."""
    app.connect("html-page-context", level_captions, priority=900)
