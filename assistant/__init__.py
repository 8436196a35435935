"""Questions in, cited documents out.

Read `tasks/ask.py` first: evidence is gathered, a prompt rendered, the reply checked, and a Document returned.
"""
