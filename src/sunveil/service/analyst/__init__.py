"""The analyst's side. It reaches what has been published, the promise and the broker: no more."""
