"""What runs longer than a page may: a module for each chapter, beside the package.

Each experiment is a function; ``python -m attnbook.course NAME`` runs it and stores its
result in the package, where the pages find it. Pages, figures and tables read stored
results only, so the package works without this folder.
"""
