"""How Sphinx makes the site of these documents (`make docs`); nothing comes from a network.

There is no intersphinx, which would download the inventories of other projects, and no renderer of
mathematics, which would load MathJax from a server: formulas in these documents are plain text, so
that a forge shows them as well.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parent))

import options

from paofed import __version__

options.write()  # a page of the site alone, which git ignores

project = "paofed"
author = "the authors of paofed"
release = version = __version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "notebook_pages"]
exclude_patterns = ["data"]
nitpicky = True  # a link or a role that leads nowhere is a warning, and `make docs` allows none

smartquotes = False  # --option is not -option with a longer dash

# Headings have the anchors that a forge gives them, so that one link serves both.
myst_heading_anchors = 4

# The reference (reference.md) is made from the docstrings, in which `name` is code.
default_role = "code"
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
autodoc_typehints = "none"  # signatures have names and defaults; with types they would fill lines

html_theme = "furo"
html_title = f"paofed {version}"
html_show_copyright = False  # the file LICENSE has the copyright
html_static_path = ["static"]
html_css_files = ["paofed.css"]
