"""Settings chosen by racing: candidates meet the same worlds, and the clearly worse drop out.

candidates  which values are tried where somebody asks for `auto`
arena       where candidates meet, and what they score there
rejection   who is clearly worse, who wins, and how much better anything tried can be
record      what is known after a race
race        runs it
"""
