"""What makes a book of numerics and studies: claims, tables, pictures, and the way to a
site.

A chapter's notebook imports ``tables``, ``papers`` and ``plotting``. The rest is
machinery: ``project`` holds every path and reads notebooks; ``execute`` runs the
chapters; ``verdicts`` reads what they settled; ``render`` calls Jupyter Book, whose
extension is ``sphinx_ext``.
"""
