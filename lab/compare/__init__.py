"""Methods at equal bytes: each with its best settings, in one world after another.

lineup      who is compared, and what each may choose
settings    how much is run, and where: the paper's settings, an ideal one, loss, drift, a table
search      what each entrant chooses within each budget, on worlds apart
comparison  the work: each entrant searches and is run
judgement   differences in pairs, and the front
page        all of it as a page

What was found, and how it is drawn and told in short, is paofed.report.comparison.
"""
