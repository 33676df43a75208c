"""The whole reproduction in order: figures as they are made, then the statements and the page."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sunveil.errors import ParameterError
from sunveil.extras import require_extras
from sunveil.plots import mark_private
from sunveil.reproduce.artefact import Artefact, Statement
from sunveil.reproduce.capacity import capacity_and_peak, capacity_statement, simulate_homes
from sunveil.reproduce.draw_figures import dp_draws
from sunveil.reproduce.experiment import Experiment, paper_mechanism, run_experiment
from sunveil.reproduce.files import as_json, check_folder, make_folder, write_artefact, write_file
from sunveil.reproduce.fleet_search import fleet_search
from sunveil.reproduce.irradiance import (
    daily_statement,
    irradiance_by_azimuth,
    irradiance_by_tilt,
    paper_skies,
    yearly_irradiance,
)
from sunveil.reproduce.optimum import find_optima, optimum_statement
from sunveil.reproduce.page import DrawGuarantees, Section, render_page
from sunveil.reproduce.search_figures import posterior_map, regret_curves, sampled_hexagons
from sunveil.reproduce.statements import statements as experiment_statements
from sunveil.reproduce.subject import Subject, simulated_subject
from sunveil.reproduce.tradeoff import privacy_tradeoff

MOST_DRAWS = 1_000_000
PAGE, STATEMENTS = "report.html", "statements.json"

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


def reproduce(
    out: Path,
    *,
    draws: int = 10_000,
    subject: Subject | None = None,
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
        The system that section IV is done again on; a simulated one when left out.
    progress
        Called with what is about to be done.

    Privacy
    -------
    None: figures of a meter file are as private as its readings, and say so. The draws are
    simulated, to be looked at, and promise nothing together.
    """
    require_extras("report", purpose="a reproduction")
    check_draws(draws)
    check_folder(out)
    say = progress or (lambda _: None)
    say("reading the system" if subject else "simulating the system")
    subject = subject or simulated_subject()
    say("searching its plane")
    # before the first file is written, so that readings that cannot carry it leave nothing
    experiment = run_experiment(subject)
    folder = _ArtefactFolder(make_folder(out), say)
    parts = [_light(folder), _capacity(folder), *_search(folder, experiment, draws)]
    sections = [section for section, _ in parts]
    statements = [statement for _, more in parts for statement in more]
    promised = _draws(experiment, draws)
    say("writing the page")
    private = subject.private
    named = {"subject": subject.words, "statements": [each.to_dict() for each in statements]}
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


def check_draws(draws: int) -> None:
    """Refuse fewer draws than 1 or more than a million."""
    if not 1 <= draws <= MOST_DRAWS:
        raise ParameterError(f"draws must be from 1 to {MOST_DRAWS:,}, and {draws:,} is not")


def _light(folder: _ArtefactFolder) -> SectionAndStatements:
    by_azimuth = folder.put("drawing the light by azimuth", irradiance_by_azimuth)
    by_tilt = folder.put("drawing the light by tilt", irradiance_by_tilt)
    skies = paper_skies()
    optima = find_optima(skies)
    yearly = folder.put("drawing the light of the year", lambda: yearly_irradiance(skies, optima))
    section = Section(
        "Light, and what it tells of a plane",
        "At Chino, California, the place of the paper's figure 3. Nothing here comes from a meter.",
        (by_azimuth, by_tilt, yearly),
    )
    return section, [daily_statement(by_azimuth, by_tilt), optimum_statement(optima)]


def _capacity(folder: _ArtefactFolder) -> SectionAndStatements:
    folder.say("simulating a fleet")
    fleet = simulate_homes()
    joint = folder.put("drawing capacity against peak", lambda: capacity_and_peak(fleet))
    section = Section(
        "Capacity, and what the peak tells of it",
        "A simulated fleet in place of the paper's households, whose readings are not public.",
        (joint,),
    )
    return section, [capacity_statement(fleet)]


def _search(
    folder: _ArtefactFolder, experiment: Experiment, draws: int
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
        [],
    )
    drawn = (
        put("drawing the DP answers", lambda: dp_draws(experiment, draws=draws)),
        put("weighing privacy against error", lambda: privacy_tradeoff(experiment, draws=draws)),
    )
    folder.say("holding the statements against it")
    yield (
        Section(
            "The private answers",
            "The paper's algorithm 2: one plane drawn at random, favouring those with a high"
            " posterior mean. What its (ε, δ) promises, and under which condition, is told below.",
            drawn,
        ),
        experiment_statements(experiment, draws=draws),
    )


def _draws(experiment: Experiment, count: int) -> DrawGuarantees:
    mechanism, score = paper_mechanism(), experiment.posterior
    return DrawGuarantees(
        count=count,
        one=mechanism.guarantee(score),
        together=mechanism.guarantee(score, draws=count),
    )
