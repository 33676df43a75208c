"""Figures of the pages, as the plain objects that plotly's script draws in the browser."""
