"""What the inference of a frame returns: the estimates, and who got none and why."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, overload

from sunveil.arguments import check_fields, shown
from sunveil.checked import checked
from sunveil.errors import ParameterError
from sunveil.estimate import Estimate
from sunveil.meters.refusals import RefusedSystem

if TYPE_CHECKING:
    import pandas as pd

# Columns of the estimates' rows that hold lists, which a table to look at does without.
_NESTED = ("planes", "tracker", "household_load", "skyline", "years", "clock_steps")
_ERROR = "error"


@dataclass(frozen=True, slots=True)
class FrameEstimates(Sequence[Estimate]):
    """The estimates of a frame's systems, in the order of the systems.

    A sequence of estimates: ``for estimate in found``, ``len(found)``, ``found[0]``; and
    ``found["roof"]`` is that of a system by its name.

    Parameters
    ----------
    estimates
        The estimates.
    refused
        The systems that cannot be inferred, each with its reason.
    """

    estimates: tuple[Estimate, ...]
    refused: tuple[RefusedSystem, ...] = ()

    def __post_init__(self) -> None:
        check_fields(self)

    def __len__(self) -> int:
        return len(self.estimates)

    def __iter__(self) -> Iterator[Estimate]:
        return iter(self.estimates)

    @overload
    def __getitem__(self, which: int | str) -> Estimate: ...
    @overload
    def __getitem__(self, which: slice) -> tuple[Estimate, ...]: ...
    def __getitem__(self, which: int | str | slice) -> Estimate | tuple[Estimate, ...]:
        if not isinstance(which, str):
            return self.estimates[which]
        for each in self.estimates:
            if each.system_id == which:
                return each
        for none in self.refused:
            if none.system_id == which:
                raise ParameterError(f"system {which} was not inferred: {none.reason}")
        raise ParameterError(
            f"there is no system {shown(which)}: see system_id of to_frame() for those there are"
        )

    def __repr__(self) -> str:
        lines = [f"  {each!r}" for each in self.estimates[:10]]
        if len(self) > len(lines):
            lines.append(f"  ... and {len(self) - len(lines)} more")
        head = f"{len(self)} estimate{'' if len(self) == 1 else 's'}"
        if self.refused:
            head += f", {len(self.refused)} refused: see refused"
        return "\n".join([f"FrameEstimates({head})", *lines])

    def _repr_html_(self) -> str:
        table = self.to_frame(nested=False)
        return f"<div>{table.to_html(max_rows=20, na_rep='–')}</div>"

    @checked
    def to_frame(self, *, nested: bool = True) -> pd.DataFrame:
        """Return a row for each system, in columns named as the fields of an estimate.

        A system that was not inferred has a row with its reason in the column ``error``, which
        only then is there.

        Parameters
        ----------
        nested
            Whether columns that hold lists, as those of planes and years, are among them.
        """
        import pandas as pd

        rows = [each.to_row() for each in self.estimates]
        rows += [{"system_id": each.system_id, _ERROR: each.reason} for each in self.refused]
        frame = pd.DataFrame(rows)
        if frame.empty:
            return frame
        if not nested:
            frame = frame.drop(columns=[name for name in _NESTED if name in frame])
        return frame.set_index("system_id")
