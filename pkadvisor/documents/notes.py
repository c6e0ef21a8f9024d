"""Words and bounds that decide which note of a document its first page shows: they are written and looked for alike."""

from __future__ import annotations

MOVES = "moves entities to another partition by a delete and an insert"
"""How the note of a write begins that changes the PartitionKey."""
OTHER_CASE = " is in the data in another case only: if they mean the same, a key over "
"""Behind what a query asks of a property; before the part of key that finds every spelling."""
TOO_MANY = "' holds at most "
"""What stands between the name of a transaction and the number of entities that it may write."""
RATES_APART = 10.0
"""From this factor on a declared rate of inserts contradicts the data. What a log inserts in its hours is no rate of
the years that the data holds."""
REFUSED_BURST = "refused-burst"
"""Code of the remark on a partition whose busiest second is over its target, where the log shows refused bursts."""
