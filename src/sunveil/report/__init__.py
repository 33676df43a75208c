"""One self-contained page about the inference of a few systems.

The page needs no network: styles are inline and figures are embedded. It shows readings, so it is
as private as they are, says so, and is written for its owner's eyes only.
"""

from sunveil.report.case import Case
from sunveil.report.page import write_report

__all__ = ["Case", "write_report"]
