"""The study of the paper: its settings, a grid around them, its claims, and theory beside it.

claims  the statements of the paper, each with how it is judged
theory  predictions beside simulation
study   what was run, judged and saved
stages  runs the study
"""
