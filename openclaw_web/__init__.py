"""The project: settings, addresses, home page and health. It has no models."""
