"""The table of errors to expect of releases: ``python -m benchmarks.expected``.

Writes ``src/sunveil/releases/typical.json`` from a simulated fleet at 25 cities: each system's
exact error distribution under permute-and-flip, pooled over the systems.
"""

from __future__ import annotations

import json
from pathlib import Path

from sunveil.infer import record_span
from sunveil.meters import from_pandas
from sunveil.privacy.mechanisms import PermuteAndFlip
from sunveil.privacy.units import Days, Readings
from sunveil.releases.errors import ErrorLaws, Law, framed_laws
from sunveil.releases.frame import frame_of
from sunveil.releases.score import unit_score
from sunveil.simulate import simulate_fleet
from sunveil.weather import get_weather

PATH = Path(__file__).parent.parent / "src" / "sunveil" / "releases" / "typical.json"
SYSTEMS, SEED = 40, 50_505
EPSILONS = (0.002, 0.005, 0.01, 0.02, 0.03, 0.05, 0.1, 0.2, 0.3, 0.5, 1.0, 2.0, 5.0, 10.0)
QUANTITIES = ("azimuth", "tilt", "capacity")


def main() -> None:
    """Compute the table and write it."""
    found: dict[tuple[str, str, float], list[ErrorLaws]] = {}
    fleet = simulate_fleet(SYSTEMS, seed=SEED, sky_minutes=10)
    for number, (truth, power, satellite) in enumerate(fleet, start=1):
        record = from_pandas(power, system_id=truth.system_id, label="start", cleaning="each")
        clear = get_weather("clearsky", truth.site, *record_span(record))
        for kind, weather in (("clear", clear), ("measured", satellite)):
            frame = frame_of(record, weather)
            for name, unit in (("readings", Readings(1)), ("days", Days(1))):
                for epsilon in EPSILONS:
                    score = unit_score(frame.settled(unit, epsilon), record, unit)
                    chances = PermuteAndFlip(epsilon).probabilities(score)
                    laws = framed_laws(frame, chances, truth.plane, truth.dc_capacity_kw)
                    found.setdefault((kind, name, epsilon), []).append(laws)
        print(f"{number} of {SYSTEMS}", flush=True)
    table: dict = {
        "basis": f"{SYSTEMS} simulated systems at 25 cities, each mechanism's distribution exact",
        "epsilon": list(EPSILONS),
    }
    for kind in ("clear", "measured"):
        table[kind] = {name: columns(found, kind, name) for name in ("readings", "days")}
    PATH.write_text(json.dumps(table, indent=1) + "\n", encoding="utf-8")


def columns(found: dict[tuple[str, str, float], list[ErrorLaws]], kind: str, name: str) -> dict:
    """Return the columns of one kind of weather and one unit."""
    out: dict[str, dict[str, list[float]]] = {q: {"mean": [], "within": []} for q in QUANTITIES}
    for epsilon in EPSILONS:
        for quantity in QUANTITIES:
            laws = [getattr(each, quantity) for each in found[kind, name, epsilon]]
            spread = Law.pooled(laws).spread
            out[quantity]["mean"].append(round(spread.mean, 3))
            out[quantity]["within"].append(round(spread.within, 3))
    return {
        name: {kind: falling(values) for kind, values in each.items()} for name, each in out.items()
    }


def falling(errors: list[float]) -> list[float]:
    """Return errors that never rise with ε: each at least as large as all that follow.

    Where the model's own error is all that is left, it wanders by per mille; the larger is stated.
    """
    return [max(errors[place:]) for place in range(len(errors))]


if __name__ == "__main__":
    main()
