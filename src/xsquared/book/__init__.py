"""From notebooks to a site: execute, collect verdicts and proofs, render.

``project`` holds every path; ``parameters`` knows what a chapter lets its readers set; ``execute``
runs the chapters; ``proofs`` runs the tests that prove the numbered equations; ``verdicts`` reads
what the chapters settled, ``claim_graph`` draws what that rests on, ``readme`` repeats it in the
README; ``render`` calls Jupyter Book;
``sphinx_ext`` prints proofs, verdicts, errata and times in the pages, ``api_pages`` writes those of
the reference, ``page_tables`` makes tables of what cells show, ``how_made`` notes below
them, ``page_html`` mends all pages, ``metadata`` describes them and ``search`` makes what the
search page looks through. ``downloads`` makes the notebooks that pages offer readable on
their own, ``pdf`` prints the site as one document.
"""
