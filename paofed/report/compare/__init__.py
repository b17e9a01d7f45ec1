"""Methods at equal bytes: each with its best settings, in one world after another.

lineup      who is compared, and what each may choose
settings    where: the paper's settings, an ideal one, loss, drift, faults, a table
extent      how much is run
search      what each entrant chooses within each budget, on worlds apart
comparison  the work: each entrant searches and is run
judged      what they did: errors, bytes, differences in pairs, the front
digest      a line for every budget, and who beats PAO-Fed in words
figure      error against bytes
page        all of it as a page
published   the comparison that comes with this version
"""
