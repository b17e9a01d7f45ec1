"""A fleet from a table of readings.

spec      which column is what: what a scenario file says
source    the columns of a CSV or Parquet file, as they were written, also one column per device
panics    keeps the backtraces of the file reader, polars, from the terminal
times     the time of every reading, by the clocks of a zone
timeline  how times become ticks
columns   transforms of columns, as they are written; fitted on the past alone
inputs    what a model sees of every row
readings  what was read: a list, in order of ticks
reader    from the rows of a file to readings; later rows by the records of a table
door      reads each table once: all other modules ask here for readings
"""
