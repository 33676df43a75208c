"""An estimate as others take it: HTML for notebooks, pvlib's systems, SAM's inputs."""
