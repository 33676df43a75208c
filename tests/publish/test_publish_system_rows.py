from __future__ import annotations

from sunveil.engine.assumed import TYPICAL_HAZE
from sunveil.privacy.units import Days, System
from sunveil.publish.system_rows import about_system, systems_question
from sunveil.publish.terms import ReleaseTerms
from sunveil.releases.choices import Choices
from sunveil.site import Losses, Site
from sunveil.timegrid import TimeGrid


def test_a_question_has_the_digest_that_ledgers_of_the_first_version_hold():
    site = Site(39.75, -105.15, 1730.0)
    about = {
        "a1": about_system("a1", site, True, TimeGrid(1552201200, 3600, 480)),
        "o'b": about_system("o'b", site, "clearsky", TimeGrid(1552201200, 900, 480)),
    }
    # the first version assumed these losses, votes and haze; with others it is another question
    first = Choices(
        losses=Losses(system=0.14),
        thresholds=(0.3, 0.5, 0.7, 0.9),
        fewest=4,
        planes=None,
        hazes=(TYPICAL_HAZE,),
    )
    question = systems_question(about, ReleaseTerms.of(Days(1), 4.0, choices=first))
    digest = "508ccaff5d423e28768ac1529816ea3f109fdd4d20cebe7da4c93070f1b11ff9"
    assert question.digest("d") == digest
    now = systems_question(about, ReleaseTerms.of(Days(1), 4.0))
    assert now.digest("d") != digest
    # its window of whole records had another shape: what that drew is no answer of this one
    whole = systems_question(about, ReleaseTerms.of(System(), 4.0, choices=first))
    drawn_by_the_box = "0c91fd1e7920454a3dc6f71a526e323e85317f5d10e7a082d58f0004de9b9630"
    assert whole.digest("d") != drawn_by_the_box
