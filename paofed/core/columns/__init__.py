"""How measured columns become the numbers that a model sees: one record for each column.

A table applies a record to all of its rows, a live device to the sample at hand. All that was
fitted (a mean, a spread, categories) is in the record, which can be written as JSON.

transform the base class of all records
numbers   records of numbers: scaled, logarithm, lag, difference, and periodic values
words     records of texts: a direction, a category
calendar  records of the time: hour, weekday, day of the year; time zones
written   records as JSON
"""
