"""What the tests of the site share: one build, one server, one browser."""

from tests.site_in_browser import address, browser, reader, site

__all__ = ["address", "browser", "reader", "site"]
