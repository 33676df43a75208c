"""Fitting a plane, a capacity and a clock to the readings of one system."""
