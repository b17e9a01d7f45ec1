"""Methods at equal bytes: each with its best settings, in one world after another.

lineup      who is compared, and what each may choose
settings    where: the paper's settings, an ideal one, loss, drift, faults, a table
search      what each entrant chooses within each budget, on worlds apart
comparison  what the chosen settings do: errors, bytes, pairs, the front
figure      error against bytes
page        all of it as a page
"""
