"""What the two papers state: equations with their derivations, claims, errata."""

#: The type under which a verdict travels in a notebook's output. It stands here, as who
#: looks for verdicts in a notebook needs neither the derivations nor sympy.
VERDICT_MIME = "application/vnd.xsquared.verdict+json"
