"""Pages of a browser that one test after another uses, each in a context of its own."""

from collections import defaultdict

from playwright.sync_api import Error as PlaywrightError

STORED = "cookies,local_storage,indexeddb,cache_storage,service_workers"
"""What pages store for their site, except the cache of files."""


class WarmPages:
    """Pages that no test uses; only compiled and cached files are left in them of earlier tests.

    To start a page of a new context, and to load and compile the modules of the editor there, takes the browser three
    times as long as most tests.
    """

    def __init__(self, browser):
        self._browser = browser
        self._idle = defaultdict(list)
        self._options = {}

    def take(self, **options):
        """Return a page whose context has these options."""
        idle = self._idle[str(options)]
        page = idle.pop() if idle else self._browser.new_context(**options).new_page()
        self._options[page] = str(options)
        return page

    def give_back(self, page):
        """Empty a page for other tests; close its context where that fails, for example after a crash."""
        options = self._options.pop(page)
        try:
            _empty(page)
        except PlaywrightError:
            page.context.close()
        else:
            self._idle[options].append(page)


def _empty(page):
    """Close the other pages of the context, leave the site, and remove what its pages stored."""
    for other in page.context.pages:
        if other != page:
            other.close()
    page.unroute_all()
    page.evaluate("sessionStorage.clear()")
    site = "/".join(page.url.split("/")[:3])
    page.goto("about:blank")
    storage = page.context.new_cdp_session(page)
    storage.send("Storage.clearDataForOrigin", {"origin": site, "storageTypes": STORED})
    storage.detach()
    page.context.clear_cookies()
