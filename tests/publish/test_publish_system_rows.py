from __future__ import annotations

from sunveil.privacy.units import System
from sunveil.publish.system_rows import about_system, systems_question
from sunveil.publish.terms import ReleaseTerms
from sunveil.site import Site
from sunveil.timegrid import TimeGrid


def test_a_question_has_the_digest_that_ledgers_of_the_first_version_hold():
    site = Site(39.75, -105.15, 1730.0)
    about = {
        "a1": about_system("a1", site, True, TimeGrid(1552201200, 3600, 480)),
        "o'b": about_system("o'b", site, "clearsky", TimeGrid(1552201200, 900, 480)),
    }
    question = systems_question(about, ReleaseTerms.of(System(), 4.0))
    digest = "0c91fd1e7920454a3dc6f71a526e323e85317f5d10e7a082d58f0004de9b9630"
    assert question.digest("d") == digest
