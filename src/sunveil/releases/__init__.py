"""Private releases of one system's azimuth, tilt and capacity, and what they are worth."""
