"""Settings chosen by racing: candidates meet the same worlds, and the clearly worse drop out.

entrants    a method with the options that are chosen for it, as words
candidates  which values are tried where somebody asks for `auto`
arena       where candidates meet, and what they score there
meeting     runs candidates, and counts the bytes that they spent
rejection   who is clearly worse, who wins, and how much better anything tried can be
record      what is known after a race
race        runs a race
choosing    what a run takes in the place of `auto`
"""

TOLERANCE = 0.1  # dB that a cheaper candidate may be worse than the best
