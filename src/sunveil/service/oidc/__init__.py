"""Single sign-on by OpenID Connect: settings, the provider, claims, and the pages between."""
