"""The page: its figures, its text, and how it gets to disk."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sunveil.arguments import instance, shown, text
from sunveil.checked import checked
from sunveil.errors import ParameterError, SunveilError
from sunveil.estimate import Estimate
from sunveil.estimate_flags import FAIR_WITHIN, GOOD_WITHIN
from sunveil.extras import require_extras
from sunveil.files import write_whole
from sunveil.household import SEASONS
from sunveil.infer import SiteSkies
from sunveil.plots import (
    plot_errors,
    plot_irradiance_by_azimuth,
    plot_irradiance_by_tilt,
    plot_load,
    plot_separated,
    plot_skyline,
    plot_yearly_irradiance,
    plot_years,
)
from sunveil.plots.clear_days import draw_clear_days
from sunveil.plots.embed import Drawing, embedded, loose_figure
from sunveil.plots.errors import NEAR_FLAT
from sunveil.plots.score_map import draw_score_map
from sunveil.plots.seen import seen_readings
from sunveil.plots.style import place_name
from sunveil.report.case import Case
from sunveil.report.words import assumptions, facts, headlines, meanings, summary, table_row
from sunveil.site import Site
from sunveil.weather import WeatherCache

if TYPE_CHECKING:
    from jinja2 import Template

MOST_SHOWN = 6


@checked
def write_report(
    path: Path,
    cases: Sequence[Case],
    *,
    title: str = "What the meters say of the panels",
    cache: WeatherCache | None = None,
) -> None:
    """Write one self-contained HTML page about some systems, whole or not at all.

    Parameters
    ----------
    path
        Where; a file that stands there is replaced. Readable by its owner only.
    cases
        The systems; all are listed and six are drawn, those with flags before others.
    title
        The page's heading.
    cache
        Where clear skies are kept.

    Privacy
    -------
    None: the page shows readings and estimates, and says that it is private to the curator.
    """
    require_extras("report", purpose="a report")
    kinds: tuple[type[object], ...] = (str, os.PathLike)
    instance("path", path, kinds, give="the path of the page to write")
    text("title", title, give="the page's heading")
    if cache is not None:
        instance("cache", cache, WeatherCache, give="a WeatherCache, or None for the user's own")
    if not isinstance(cases, Sequence) or not all(isinstance(each, Case) for each in cases):
        raise ParameterError(f"cases must be a list of Case, and {shown(cases)} is not")
    if not cases:
        raise ParameterError("a report needs at least one system")
    path = Path(path)
    if path.is_dir() or not path.parent.is_dir():
        # said before the work rather than after it
        raise SunveilError(
            f"the report cannot be written to {path}; name a file in a folder that exists"
        )
    write_page(path, render_report(cases, title=title, cache=cache))


def render_report(cases: Sequence[Case], *, title: str, cache: WeatherCache | None = None) -> str:
    """Return the page as text.

    Parameters
    ----------
    cases
        The systems; all are listed and six are drawn.
    title
        The page's heading.
    cache
        Where clear skies are kept.
    """
    site = Counter(case.weather.site for case in cases).most_common(1)[0][0]
    return page_template("report.html.j2").render(
        title=title,
        summary=summary(cases),
        rows=[table_row(case) for case in cases],
        any_truth=any(case.truth is not None for case in cases),
        meanings=meanings(cases),
        assumptions=assumptions(cases),
        errors=_draw_errors(cases),
        light=_draw_light(site, cases, cache=cache),
        place=place_name(site),
        shown=[_draw_case(case, cache=cache) for case in worth_drawing(cases)],
        near_flat=NEAR_FLAT,
        good_within=GOOD_WITHIN,
        fair_within=FAIR_WITHIN,
    )


def page_template(name: str, *, folder: Path | None = None) -> Template:
    """Return a template of a page, from the package or a folder; it escapes what is put into it."""
    from jinja2 import ChoiceLoader, Environment, FileSystemLoader, PackageLoader, StrictUndefined

    environment = Environment(
        loader=ChoiceLoader([PackageLoader("sunveil"), FileSystemLoader(folder or ())]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template(name)


def worth_drawing(cases: Sequence[Case]) -> list[Case]:
    """Return as many cases as are drawn, in their order: a few with flags, then the first."""
    flagged = [i for i, case in enumerate(cases) if case.estimate.flags][: MOST_SHOWN // 2]
    others = [i for i in range(len(cases)) if i not in flagged]
    return [cases[i] for i in sorted([*flagged, *others[: MOST_SHOWN - len(flagged)]])]


def _draw_errors(cases: Sequence[Case]) -> Drawing | None:
    known = [case for case in cases if case.known is not None]
    truths = [case.known for case in known if case.known is not None]
    if not any(case.planes for case in known):
        return None
    figure = loose_figure(10.0, 3.3)
    plot_errors(truths, [case.estimate for case in known], axes=figure.subplots(1, 3))
    return embedded(figure, "Errors of azimuth, tilt and capacity against the truth, per system")


def _draw_light(
    site: Site, cases: Sequence[Case], *, cache: WeatherCache | None
) -> tuple[Drawing, ...]:
    """Return the site's irradiance figures for the year in which the readings begin."""
    year = min(int(str(case.record.times[0])[:4]) for case in cases)
    # the middle of summer, whichever half of the globe: paper fig. 3 is of a 15 July
    date = f"{year}-07-15" if site.latitude >= 0.0 else f"{year}-01-15"
    daily: list[tuple[Callable[..., Any], str]] = [
        (plot_irradiance_by_azimuth, "Light over a summer day on planes of different azimuths"),
        (plot_irradiance_by_tilt, "Light over a summer day on planes of different tilts"),
    ]
    drawings = []
    for plot, words in daily:
        figure = loose_figure(5.6, 3.6)
        plot(site, date, cache=cache, ax=figure.subplots())
        drawings.append(embedded(figure, words))
    figure = loose_figure(5.2, 4.4)
    plot_yearly_irradiance(
        site, year, cache=cache, ax=figure.subplots(subplot_kw={"projection": "polar"})
    )
    words = "Mean daily light over the year for every azimuth and tilt, with the best plane marked"
    return (*drawings, embedded(figure, words))


def _draw_case(case: Case, *, cache: WeatherCache | None) -> dict[str, Any]:
    estimate, name = case.estimate, case.estimate.system_id
    skies = SiteSkies.under(case.weather, cache=cache)
    data = seen_readings(case.record, skies, estimate)
    days = loose_figure(10.0, 2.7)
    draw_clear_days(data, axes=days.subplots(1, 4, sharey=True))
    map_ = loose_figure(5.2, 4.8)
    draw_score_map(
        data,
        truth=[plane for plane, _ in case.planes],
        ax=map_.subplots(subplot_kw={"projection": "polar"}),
    )
    return {
        "row": table_row(case),
        "place": place_name(case.weather.site),
        "reason": estimate.quality_reason,
        "headlines": headlines(estimate),
        "facts": facts(case),
        "notes": estimate.notes,
        "days": embedded(days, f"Measured and modelled power of {name} on four clear days"),
        "map": embedded(map_, f"Share of readings of {name} that each azimuth and tilt explains"),
        "skyline": _draw_skyline(case),
        "years": _draw_years(estimate),
        "household": _draw_household(case, cache=cache),
    }


def _draw_household(case: Case, *, cache: WeatherCache | None) -> tuple[Drawing, ...]:
    """Return a net meter's generation told from its load, and that load; nothing of others."""
    estimate, name = case.estimate, case.estimate.system_id
    if estimate.household is None:
        return ()
    days, load = loose_figure(10.0, 2.7), loose_figure(5.2, 3.2)
    axes = days.subplots(1, len(SEASONS), sharey=True)
    plot_separated(case.record, case.weather, estimate, cache=cache, axes=axes)
    plot_load(estimate, ax=load.subplots())
    return (
        embedded(days, f"Generation and load of {name} on typical days of four seasons"),
        embedded(load, f"Mean load of {name} by hour and season"),
    )


def _draw_skyline(case: Case) -> Drawing | None:
    """Return what hides the sun from a system, where something does."""
    if not case.estimate.skyline:
        return None
    figure = loose_figure(7.2, 3.0)
    plot_skyline(case.estimate, case.weather.site, ax=figure.subplots())
    name = case.estimate.system_id
    return embedded(figure, f"Skyline that hides the sun from {name}, before the sun's paths")


def _draw_years(estimate: Estimate) -> Drawing | None:
    """Return what the single years of a record say, where there are several."""
    if not estimate.years:
        return None
    figure = loose_figure(10.0, 2.3)
    plot_years(estimate, axes=figure.subplots(1, 3))
    name = estimate.system_id
    return embedded(figure, f"Azimuth, tilt and capacity of {name} by the single years")


def write_page(path: Path, page: str) -> None:
    """Write a page in one step, so that a reader sees the old one or the new one, whole."""
    try:
        write_whole(path, page, private=True)
    except OSError as error:
        raise SunveilError(
            f"the report cannot be written to {path} ({error.strerror or error}); give a file in a"
            " folder that exists and can be written"
        ) from error
