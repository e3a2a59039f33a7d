"""``python -m xsquared_book``."""

import sys

from xsquared_book.cli import main

if __name__ == "__main__":
    sys.exit(main())
