"""Long work in background processes that survive a restart of the service."""

from sunveil.service.jobs.job import BackgroundJob, JobProgress, JobState
from sunveil.service.jobs.jobs import BackgroundJobs

__all__ = ["BackgroundJob", "BackgroundJobs", "JobProgress", "JobState"]
