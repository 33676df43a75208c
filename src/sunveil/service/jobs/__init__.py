"""Long work in background processes that survive a restart of the service."""

from sunveil.service.jobs.job import Job, Progress, State
from sunveil.service.jobs.jobs import Jobs

__all__ = ["Job", "Jobs", "Progress", "State"]
