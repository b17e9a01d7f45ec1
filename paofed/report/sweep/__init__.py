"""A sweep as people look at it.

panels    what figures have in common: a panel for each case, axes of any kind of values
curves    error against a key
maps      error over two keys
front     error against bytes, and the least error for so many of them
words     the best of each method, in sentences and rows
page      all of it as a page
"""
