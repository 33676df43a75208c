"""The analyst's portal and the curator's console, as one web service.

The analyst's side (:mod:`sunveil.service.analyst`) asks through a protocol
(:mod:`sunveil.service.broker`) and reaches nothing that can read a meter or an estimate; what
answers (:mod:`sunveil.service.answering`) is put behind it when the service starts
(:mod:`sunveil.service.app`).
"""
