"""What makes a book of numerics and studies: claims, tables, pictures, the site.

A chapter's notebook imports ``tables``, ``papers`` and ``plotting``. The rest is
machinery: ``project`` holds every path, and reads contents and notebooks; ``execute``
runs the chapters, ``runs`` marks what other parameters changed; ``verdicts`` reads what
chapters settled; ``render`` calls Jupyter Book, whose extension is ``sphinx_ext``.
"""
