"""Power of a fleet from what has been published of it."""
