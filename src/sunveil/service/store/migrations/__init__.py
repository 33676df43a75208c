"""The service's schema, step by step."""
