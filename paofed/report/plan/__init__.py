"""A plan to look at.

figure  error against bytes: the front, and everything that was tried
page    all of it as a page
"""
