"""A sweep as people look at it.

panels    what figures have in common: a panel for each case, axes of any kind of values
figures   error against a key, over two keys, and against bytes
words     the best of each method, in sentences and rows
page      all of it as a page
"""
