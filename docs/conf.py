"""Sphinx's settings: ``make docs`` builds with every warning an error, and runs the doctests."""

from __future__ import annotations

from sunveil import __version__

project = "Sunveil"
author = "the Sunveil contributors"
version = release = __version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.doctest",
    "sphinx.ext.napoleon",
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
