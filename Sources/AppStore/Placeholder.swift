// Placeholder so that the target has a source; goes with its first file.
