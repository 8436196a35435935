"""One verb each: gather evidence, render, ask, check, and return a Document."""
