"""What the tests of the book share: a small project, and one build, one server, one browser."""

from tests.site_in_browser import address, browser, reader, site
from tests.small_project import small_project

__all__ = ["address", "browser", "reader", "site", "small_project"]
