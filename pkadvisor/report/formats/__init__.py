"""Documents in formats of other tools: SARIF, JUnit, annotations, Markdown."""
