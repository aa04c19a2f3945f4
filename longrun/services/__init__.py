"""Every write of this app, by what it is about."""
