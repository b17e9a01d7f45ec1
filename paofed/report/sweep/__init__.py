"""A sweep as people look at it.

panels    what figures have in common: a panel for each case, axes of any kind of values
curves    error against a key, and against bytes
maps      error over two keys
words     the best of each method, in sentences and rows
page      all of it as a page
"""
