"""How measured columns become the numbers that a model sees: one record for each column.

A table applies a record to all of its rows, a live device to the sample at hand. Whatever was
fitted (a mean, a spread, categories) stands in the record, which can be written as JSON.

transform what all records have
numbers   of a number: scaled, its logarithm, a lag, a difference; what comes round
words     of a text: a direction, a category
calendar  of the time: hour, weekday, day of the year; zones
written   records as JSON
"""
