"""Power from releases, made by jobs: what the analyst's side reaches by its protocol alone."""
