"""Whole federations on trial: rehearsed in one process, or as processes on this machine."""
