"""Work that can be spread and interrupted: jobs with keys, a store of jobs, executors."""
