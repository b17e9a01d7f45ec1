"""What verbs have in common."""
