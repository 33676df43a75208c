"""From a publication to power: what an analyst does with it.

A publication is read (:mod:`~sunveil.power.reading`), turned into draws of the fleet that agree
with it and its stated noise (:mod:`~sunveil.power.posterior`), and those into power under public
weather (:mod:`~sunveil.power.make`).
"""
