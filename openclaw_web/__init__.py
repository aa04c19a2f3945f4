"""The project: settings, addresses, home page and health. It has no models."""

__version__ = "0.1.0"
