"""A fleet from a table of readings.

spec      which column is what: what a scenario file says
source    the columns of a CSV or Parquet file, as they were written
wide      tables of one column per device
panics    keeps the backtraces of its reader from the terminal
local     times by the clocks of a zone
times     the time of every reading
timeline  how times become ticks
columns   transforms of columns, as they are written; what is fitted on the past alone
inputs    what a model sees of every row
readings  what was read: a list, in order of ticks
reader    from the rows of a file to readings
unseen    what a model sees of rows to come, by the records of a table
door      reads a table once: whoever needs readings asks here
"""
