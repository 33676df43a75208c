"""The analyst's side: it reaches what has been published and asks; no more."""
