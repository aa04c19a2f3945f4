"""Pages of the Workshop: load, call one service, render. `shown` puts together what the desk's templates draw."""
