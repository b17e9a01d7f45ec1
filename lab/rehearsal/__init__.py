"""Whole federations in one process, on virtual time, with every fault and every promise audited."""
