"""Work that can be spread and interrupted: units with keys, a store of units, executors."""
