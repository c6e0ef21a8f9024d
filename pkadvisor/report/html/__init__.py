"""The HTML report: a document becomes one page that stands alone."""
