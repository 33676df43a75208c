"""The whole reproduction in order: figures as they are made, then the statements and the page."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reproduction.artefact import Artefact, Statement
from reproduction.conjectures import conjectures
from reproduction.experiment import Experiment, paper_mechanism, run_experiment
from reproduction.figure1 import trusted_curator
from reproduction.figure2 import angles
from reproduction.figure3 import (
    daily_statement,
    irradiance_by_azimuth,
    irradiance_by_tilt,
    paper_skies,
    yearly_irradiance,
)
from reproduction.figure4 import (
    HomeFleet,
    capacity_and_peak,
    capacity_statement,
    simulate_homes,
)
from reproduction.figure5ab import posterior_map, regret_curves, sampled_hexagons
from reproduction.figure5c import dp_draws
from reproduction.figure6 import privacy_tradeoff
from reproduction.files import as_json, check_folder, make_folder, write_artefact, write_file
from reproduction.fleet_search import fleet_search, truth_statement
from reproduction.guarantees import guarantees
from reproduction.optimum import find_optima, optimum_statement
from reproduction.page import DrawGuarantees, Section, render_page
from reproduction.readings5c import readings_figure
from reproduction.scope import scope, subject_list
from reproduction.statements import statements as experiment_statements
from reproduction.steps import repair_statement, steps_figure
from reproduction.subject import Subject, clouded, simulated_subject
from sunveil._extras import require_extras
from sunveil._options import check_fields, checked
from sunveil.errors import ParameterError
from sunveil.plots import mark_private
from sunveil.weather import Weather

MOST_DRAWS = 1_000_000
PAGE, STATEMENTS = "report.html", "statements.json"
# The paper's sections, in its order.
SECTIONS = ("I-B", "II-A", "II-B", "II-C", "III", "III-A", "III-B", "III-D", "IV", "V", "appendix")

Progress = Callable[[str], None]
SectionAndStatements = tuple[Section, list[Statement]]


@dataclass(frozen=True, slots=True)
class Reproduction:
    """What a reproduction made and found.

    Parameters
    ----------
    subject
        The system that the paper's section IV was done again on, in words.
    private
        Whether its readings are somebody's.
    artefacts
        Names of the figures.
    statements
        The paper's statements next to what was measured.
    draws
        How many DP draws were simulated, and what they promise.
    files
        Every file written, the page last.
    """

    subject: str
    private: bool
    artefacts: tuple[str, ...]
    statements: tuple[Statement, ...]
    draws: DrawGuarantees
    files: tuple[Path, ...]

    def __post_init__(self) -> None:
        check_fields(self)

    def to_dict(self) -> dict[str, Any]:
        """Return the reproduction as plain JSON types."""
        return {
            "subject": self.subject,
            "private": self.private,
            "draws": self.draws.count,
            "guarantee": self.draws.one.to_dict(),
            "guarantee_of_all_draws": self.draws.together.to_dict(),
            "statements": [statement.to_dict() for statement in self.statements],
            "artefacts": list(self.artefacts),
            "files": [str(path) for path in self.files],
        }


class _ArtefactFolder:
    """The folder of a reproduction, in which artefacts are written as soon as they are made."""

    def __init__(self, folder: Path, say: Progress) -> None:
        self.folder, self.say = folder, say
        self.files: list[Path] = []
        self.names: list[str] = []

    def put(self, doing: str, make: Callable[[], Artefact], *, private: bool = False) -> Artefact:
        """Make an artefact and write it."""
        self.say(doing)
        artefact = make()
        if private:
            mark_private(artefact.figure.axes[0])
        self.files += write_artefact(self.folder, artefact, private=private)
        self.names.append(artefact.name)
        return artefact

    def write(self, name: str, content: str, *, private: bool) -> None:
        """Write a file beside the artefacts."""
        write_file(self.folder / name, content, private=private)
        self.files.append(self.folder / name)


def embedded_subjects() -> list[Subject]:
    """Return the subjects that need no file: simulated, by week, and with the paper's misfit."""
    first = simulated_subject()
    return [first, first.by_week(), clouded(first)]


@checked
def reproduce(
    out: Path,
    *,
    draws: int = 10_000,
    subject: Subject | None = None,
    weather: Weather | None = None,
    progress: Progress | None = None,
) -> Reproduction:
    """Make the paper's figures anew, with their data, its statements and one page.

    Parameters
    ----------
    out
        Folder to write to, made if need be. Each file in it is written whole or not at all, each
        figure as soon as it is made, and ``report.html`` last.
    draws
        How many DP answers are drawn, for the figures to show.
    subject
        The system that figures 5 and 6 are made of, and the first that statements are held
        against, by month and by week; a simulated one when left out.
    weather
        Weather of Chino over 2016 for figure 3; the clear sky, and a simulated one of the place's
        own share of sunshine, when left out.
    progress
        Called with what is about to be done.

    Privacy
    -------
    None: figures of a meter file are as private as its readings, and say so. The draws are
    simulated, to be looked at, and promise nothing together.
    """
    require_extras("plots", purpose="a reproduction")
    check_draws(draws)
    check_folder(out)
    say = progress or (lambda _: None)
    say("reading the system" if subject else "simulating the system")
    subjects = embedded_subjects() if subject is None else [subject, subject.by_week()]
    subject = subjects[0]
    say("searching its plane")
    # before the first file is written, so that readings that cannot carry it leave nothing
    first, weekly, *others = [run_experiment(each) for each in subjects]
    if subject.private:
        say("searching the plane of simulated systems")
        others = [run_experiment(each) for each in embedded_subjects()]
    experiments = [first, weekly, *others]
    folder = _ArtefactFolder(make_folder(out), say)
    fleet = _homes(folder)
    parts = [
        _parties(folder),
        _light(folder, weather),
        _capacity(folder, fleet),
        *_search(folder, first, weekly, draws),
        _way(folder),
    ]
    sections = [section for section, _ in parts]
    say("holding the statements against it")
    statements = _in_order(
        [
            *(statement for _, more in parts for statement in more),
            *conjectures(experiments),
            *guarantees(experiments),
            *experiment_statements(experiments, draws=draws),
            *scope(first, fleet),
        ]
    )
    promised = _draws(first, draws)
    say("writing the page")
    private = subject.private
    named = {
        "subject": subject.words,
        "subjects": subject_list([each.subject for each in experiments]),
        "statements": [each.to_dict() for each in statements],
    }
    folder.write(STATEMENTS, as_json(named), private=private)
    page = render_page(
        subject,
        sections,
        statements=statements,
        draws=promised,
        files=[path.name for path in folder.files],
    )
    folder.write(PAGE, page, private=private)
    return Reproduction(
        subject=subject.words,
        private=private,
        artefacts=tuple(folder.names),
        statements=tuple(statements),
        draws=promised,
        files=tuple(folder.files),
    )


def _in_order(statements: list[Statement]) -> list[Statement]:
    """Return statements in the order in which the paper makes them."""
    return sorted(statements, key=lambda each: SECTIONS.index(each.section))


def check_draws(draws: int) -> None:
    """Refuse fewer draws than 1 or more than a million."""
    if not 1 <= draws <= MOST_DRAWS:
        raise ParameterError(f"draws must be from 1 to {MOST_DRAWS:,}, and {draws:,} is not")


def _parties(folder: _ArtefactFolder) -> SectionAndStatements:
    drawn = (
        folder.put("drawing the curator", trusted_curator),
        folder.put("drawing the angles", angles),
    )
    section = Section(
        "Who asks, and which angles there are",
        "The paper's figures 1 and 2, which are drawings: nothing is measured in them.",
        drawn,
    )
    return section, []


def _light(folder: _ArtefactFolder, weather: Weather | None) -> SectionAndStatements:
    by_azimuth = folder.put("drawing the light by azimuth", lambda: irradiance_by_azimuth(weather))
    by_tilt = folder.put("drawing the light by tilt", lambda: irradiance_by_tilt(weather))
    skies = paper_skies(weather)
    optima = find_optima(skies)
    yearly = folder.put("drawing the light of the year", lambda: yearly_irradiance(skies, optima))
    section = Section(
        "Light, and what it tells of a plane",
        "At Chino, California, the place of the paper's figure 3. Nothing here comes from a meter.",
        (by_azimuth, by_tilt, yearly),
    )
    return section, [daily_statement(by_azimuth, by_tilt), optimum_statement(optima)]


def _homes(folder: _ArtefactFolder) -> HomeFleet:
    folder.say("simulating a fleet")
    return simulate_homes()


def _capacity(folder: _ArtefactFolder, fleet: HomeFleet) -> SectionAndStatements:
    joint = folder.put("drawing capacity against peak", lambda: capacity_and_peak(fleet))
    section = Section(
        "Capacity, and what the peak tells of it",
        "A simulated fleet in place of the paper's households, whose readings are not public.",
        (joint,),
    )
    return section, [capacity_statement(fleet)]


def _search(
    folder: _ArtefactFolder, experiment: Experiment, weekly: Experiment, draws: int
) -> Iterable[SectionAndStatements]:
    private = experiment.subject.private

    def put(doing: str, make: Callable[[], Artefact]) -> Artefact:
        return folder.put(doing, make, private=private)

    searched = (
        put("drawing the posterior", lambda: posterior_map(experiment)),
        put("drawing where GP-UCB looked", lambda: sampled_hexagons(experiment)),
        put("drawing the regret", lambda: regret_curves(experiment)),
        # simulated systems, never somebody's
        folder.put("searching twenty simulated systems", fleet_search),
    )
    yield (
        Section(
            "The search",
            "The paper's algorithm 1 on the system above: a Gaussian process over all 360 x 90"
            " planes, each next one chosen by its upper confidence bound.",
            searched,
        ),
        [truth_statement(searched[-1])],
    )
    drawn = (
        put("drawing the DP answers", lambda: dp_draws(experiment, draws=draws)),
        put("reading figure 5c in every way", lambda: readings_figure(experiment, weekly)),
        put("weighing privacy against error", lambda: privacy_tradeoff(experiment, draws=draws)),
    )
    yield (
        Section(
            "The private answers",
            "The paper's algorithm 2: one plane drawn at random, favouring those with a high"
            " posterior mean. What its (ε, δ) promises, and under which condition, is told below.",
            drawn,
        ),
        [],
    )


def _way(folder: _ArtefactFolder) -> SectionAndStatements:
    steps = folder.put("walking from the paper's mechanism to a useful one", steps_figure)
    section = Section(
        "From here to a useful mechanism",
        "What the paper's own score can do once its sensitivity is told for the worst case, and"
        " what each further step adds, up to the votes of days that Sunveil releases by.",
        (steps,),
    )
    return section, [repair_statement(steps)]


def _draws(experiment: Experiment, count: int) -> DrawGuarantees:
    mechanism, score = paper_mechanism(), experiment.posterior
    return DrawGuarantees(
        count=count,
        one=mechanism.guarantee(score),
        together=mechanism.guarantee(score, draws=count),
    )
