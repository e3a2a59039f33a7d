"""From notebooks to a site: execute, collect verdicts and proofs, render.

``project`` holds every path; ``parameters`` knows what a chapter lets its readers set; ``execute``
runs the chapters; ``proofs`` runs the tests that prove the numbered equations; ``verdicts`` reads
what the chapters settled, ``readme`` repeats it in the README; ``render`` calls Jupyter Book;
``sphinx_ext`` prints proofs, verdicts, errata and times in the pages, ``api_pages`` writes those of
the reference, ``page_html`` mends all of them, ``metadata`` describes them and ``search`` makes
what the search page looks through.
"""
