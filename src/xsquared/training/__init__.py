"""Training: the paper's optimiser, variable projection, and first-order methods for comparison.

:func:`xsquared.training.fit.fit` is the one door. Behind it stand ``newton`` (the paper's),
``first_order``, and variable projection in two forms: ``variable_projection`` on points in any
dimension and for frozen gates, ``free_knots`` and ``spline_network`` on the integral in one.
"""
