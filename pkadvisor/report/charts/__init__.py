"""Charts as markup: pure functions from a small frozen value to a ``<figure>``. They know no document.

    scales      where a value lies, and which ticks an axis has
    svg         elements with everything escaped; presentation attributes only
    style       colours, dashes and the style sheet of the charts
    frame       the figure around a chart, its axes, legends and labels
    png         a picture of at most 16 colours, byte for byte the same everywhere

    heat_map    key space × time against the target of a partition
    lines       series, bands, limits and marks            timeline   several panels on one time axis
    stacked_bar parts that add up                          lorenz     how evenly a load is spread
    tornado     what an assumption may change              grid       a word for each cell of a table

Every chart is ``draw(value) -> Markup``. The value's ``alt`` is the finding in one sentence; it is what a screen reader
says. Text comes in raw and is escaped here, numbers come in as they stand in the document: a chart computes positions
and ticks, no figures. Charts hold no ids, no inline style and no script, and are whole without a style sheet.
"""
