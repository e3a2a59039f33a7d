"""What makes a book of numerics and studies: claims, tables, pictures, and the way to a site.

A chapter's notebook imports ``tables``, ``papers`` and ``plotting``. The rest is machinery:
``project`` holds every path; ``parameters`` knows what a chapter lets its readers set; ``execute``
runs the chapters; ``verdicts`` reads what the chapters settled; ``render`` calls Jupyter Book,
whose extension is ``sphinx_ext``.

Modules import :mod:`xsquared`, :mod:`xsquared_studies` and, of this package, those named before:
``tables`` → ``papers`` → ``pictures`` → ``replay`` → ``plotting`` → ``project`` → ``parameters`` →
``search`` → ``execute`` → ``claim_graph`` → ``verdicts`` → ``readme`` →
``page_tables`` → ``downloads`` → ``how_made`` → ``page_html`` → ``metadata`` → ``explore`` →
``choose`` → ``moving`` → ``front`` → ``compare`` → ``api_pages`` → ``sphinx_ext`` → ``render`` →
``pdf`` → ``cli``.
"""
