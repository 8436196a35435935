"""Papers in, ranked passages out; needs no model.

Read `library.py` first: `Library.add` takes a file to stored papers, `Library.search` a query to hits.
"""
