"""Passwords, tokens, cookies, headers, limits and the time that answers take."""
