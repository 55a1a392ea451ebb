"""Skills that come with the package, found by their names like those of any other installed package."""
