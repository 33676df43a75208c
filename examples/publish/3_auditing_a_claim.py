"""
Auditing a claim
================

"This release is ε-DP" is a claim about every pair of neighbours: two records that differ in what
is protected. An audit looks for a pair that breaks it. Finding none proves nothing, the proofs do
that; finding one shows a fault. So an audit is only worth something if it finds faults that are
there.
"""

# %%
# A mechanism, and what it sees
# -----------------------------
#
# A release of a plane chooses among candidates by how many readings agree with each. One reading
# more or less moves any count by at most one: that is the sensitivity. Here are twelve candidates,
# the counts of a record, and a neighbour of it in which one reading has been replaced.

import matplotlib.pyplot as plt
import numpy as np

from sunveil import Readings
from sunveil.privacy.mechanism_audit import audit_exact, audit_sampler, privacy_loss
from sunveil.privacy.mechanisms import PermuteAndFlip, Score

rng = np.random.default_rng(1)
counts = rng.integers(40, 60, size=12)


def score(levels):
    """Return counts as a mechanism takes them, with what they protect."""
    return Score(levels.astype(np.int64), 1, Readings(1), "docs/proofs/counts.md")


def neighbours(levels, many):
    """Yield records beside ones in which one reading is another."""
    for _ in range(many):
        yield score(levels), score(levels + rng.integers(-1, 2, size=len(levels)))


# %%
# The honest one
# --------------
#
# The audit computes the probability of every outcome exactly, for both neighbours. The logarithm of
# their ratio is the privacy loss, and must never be above ε.

claim = 0.5
honest = audit_exact(PermuteAndFlip(claim), neighbours(counts, 500))
print(
    f"claimed {honest.epsilon:g}, largest loss found {honest.largest:.3f} in {honest.pairs} pairs"
)
print("holds" if honest.holds else "does not hold")

# %%
# What is computed must also be what is drawn:

drawn = audit_sampler(PermuteAndFlip(claim), score(counts), 2000)
print("draws look as they should" if drawn.holds else "draws are wrong")

# %%
# One that cheats
# ---------------
#
# A common fault: the mechanism takes a sensitivity that somebody measured on ordinary days, instead
# of the one that holds for all. This one is twice as sharp as its claim allows.


class Cheating(PermuteAndFlip):
    """Says ε, and draws at 2 ε."""

    def log_probabilities(self, score):
        """Return the logarithm of the probability of every candidate."""
        return PermuteAndFlip(2 * self.epsilon).log_probabilities(score)


cheating = audit_exact(Cheating(claim), neighbours(counts, 500))
print(f"claimed {cheating.epsilon:g}, largest loss found {cheating.largest:.3f}")
print("holds" if cheating.holds else "does not hold")

# %%
# What an auditor sees
# --------------------
#
# Each dot is a pair of neighbours. The worst ones are not found by chance alone: an audit also
# tries pairs that are made to be bad, in which one candidate gains and all others lose. They lie
# at the right, and come close to the claim: it could not be smaller.

everyone = list(neighbours(counts, 300))
worst = []
for best in range(len(counts)):
    moved = counts - 1
    moved[best] += 2
    worst.append((score(counts), score(moved)))

fig, ax = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
for mechanism, name, colour in (
    (PermuteAndFlip(claim), "honest", "#0072B2"),
    (Cheating(claim), "cheating", "#D55E00"),
):
    losses = sorted(privacy_loss(mechanism, *pair) for pair in everyone)
    made = sorted(privacy_loss(mechanism, *pair) for pair in worst)
    ax.plot(np.arange(len(losses)), losses, ".", ms=3, color=colour, label=name)
    ax.plot(len(losses) + 20 + 5 * np.arange(len(made)), made, "o", ms=4, color=colour)
ax.axhline(claim, color="0.3", lw=1, ls="--")
ax.annotate("the claim", (250, claim), (0, 4), textcoords="offset points", color="0.3")
ax.axvline(len(everyone) + 10, color="0.85", lw=1)
ax.set(
    xlabel="Pairs of neighbours, in order of their loss; made to be bad at the right",
    ylabel="Privacy loss",
    ylim=(0, 2.2 * claim),
    title=f"The same claim, ε = {claim:g}, kept and broken",
)
ax.spines[["top", "right"]].set_visible(False)
ax.legend(frameon=False, loc="upper left")
