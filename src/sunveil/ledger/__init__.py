"""Promises, and the durable record of what has been spent against them.

Nothing here reads a meter or draws an answer: a release is charged here before it is drawn, and its
answer is kept here after.
"""
