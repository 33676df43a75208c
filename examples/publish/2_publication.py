"""
A publication, and reading it back
==================================

A curator wants to tell how the roofs of a county face, and no household's roof. Tables with noise
do that: a promise is made first, a ledger keeps it, and a folder goes to the website.
"""

# %%
# What was inferred
# -----------------
#
# Two thousand homes, one row each, as ``sunveil infer --systems`` leaves them. Here they are
# simulated, so that the published tables can be compared with the truth below. In real life nobody
# outside sees these rows.

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from sunveil import System
from sunveil.example_publication import example_homes
from sunveil.ledger.ledger import Ledger
from sunveil.ledger.promises import Promise
from sunveil.publication.publication_folder import read_table, write_publication
from sunveil.publication.published_tables import Bins
from sunveil.publish.fleet_tables import FleetTables, TableChoices
from sunveil.publish.publisher import Publisher

rows = example_homes(2000)
rows

# %%
# A promise, and what it costs
# ----------------------------
#
# The promise is one sentence: no household's record changes what we publish by more than ε = 2,
# ever. Before anything is spent, the plan says what a publication would cost and how far off its
# counts would be. It looks at no row.

work = tempfile.TemporaryDirectory()
folder = Path(work.name)
ledger = Ledger(folder / "ledger.db", create=True)
ledger.create_dataset("county", Promise(System(), epsilon=2.0))
choices = TableChoices(Bins(), epsilon=1.0, tables=("sectors", "tilts"))
plan = Publisher(ledger, "county").plan(FleetTables(choices))
print(f"cost {plan.cost:g} of {plan.remaining:g}")
for each in plan.expected:
    print(f"{each.table}: ± {each.error:.1f} {each.unit} in every cell, as a standard deviation")

# %%
# Publish
# -------
#
# The ledger is charged before the first number is drawn. The same question again gets the same
# answer, at no cost: asking twice and comparing tells nothing more.

published = Publisher(ledger, "county").publish(FleetTables(choices, rows))
again = Publisher(ledger, "county").publish(FleetTables(choices, rows))
print("the same tables again:", published.tables[0].rows == again.tables[0].rows)
print(f"left of the promise: {ledger.dataset('county').remaining:g}")
account = Publisher(ledger, "county").account(published)
files = write_publication(folder / "published", published, account=account)
print(*(path.name for path in files), sep="\n")

# %%
# What the analyst reads
# ----------------------
#
# Everything in the folder is public. ``systems`` are whole numbers that agree with each other and
# with the public number of systems; ``noisy`` is what was drawn, with its deviation ``sd``.

sectors = read_table(folder / "published" / "sectors.csv")
print(sectors.to_string(index=False))

# %%
# And what the privacy officer can check afterwards, from the chain of entries alone:

verdict = ledger.verify("county")
print(f"{verdict.charges} charge, {verdict.spent:g} of {verdict.total:g} spent")
print("faults:", ", ".join(verdict.faults) or "none")
ledger.close()

# %%
# Published beside true
# ---------------------
#
# Only a simulation can draw this: the truth is the private table.

known = sectors[sectors["sector"] != "unknown"]
width = 360.0 / len(known)
places = ((rows.surface_azimuth + width / 2) % 360.0 // width).astype(int)
true = np.bincount(places, minlength=len(known))
off = np.abs(known["systems"].to_numpy(float) - true)
print(f"largest error of a sector: {off.max():.0f} of {len(rows):,} systems")

fig, ax = plt.subplots(figsize=(6.4, 3.8), layout="constrained")
x = np.arange(len(known))
ax.bar(x, true, width=0.75, color="#0072B2", alpha=0.35, label="true, private")
ax.errorbar(
    x,
    known["systems"].astype(float),
    yerr=2 * known["sd"].astype(float),
    fmt="o",
    ms=4,
    color="#D55E00",
    capsize=3,
    label="published, ± two standard deviations",
)
ax.set_xticks(x, known["sector"])
ax.set(
    xlabel="Sector that roofs face",
    ylabel="Systems",
    ylim=(0, 1.25 * true.max()),
    title="Roofs of a county at ε = 1 for a whole household",
)
ax.spines[["top", "right"]].set_visible(False)
ax.legend(frameon=False, loc="upper left")
work.cleanup()
