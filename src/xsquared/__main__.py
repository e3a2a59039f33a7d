"""``python -m xsquared``."""

import sys

from xsquared.cli import main

if __name__ == "__main__":
    sys.exit(main())
