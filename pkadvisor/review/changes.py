"""What a change of a design does: findings new, worse and fixed, numbers before and after, keys to rewrite.

The ``diff`` of a design in the result of a review; None where there is nothing to compare with:

    {
      "against": "origin/main",            # the label: a file or a ref
      "same_load": true,                   # metrics and queries: both designs under the load of the change
      "new_design": false,                 # the file did not exist before: everything is new, the lists are empty
      "profile_changed": false,            # the profile at the ref is another one
      "load_changed": false,               # it, or the rates that the design declares
      "notes": [],                         # what could not be compared, in sentences
      "tables_added": [], "tables_removed": [],
      "metrics": [
        {"table": "Telemetry", "kind": null, "name": "peak partition load", "unit": "x target", "before": 0.74,
         "after": 1.7, "change": 0.96, "direction": "worse", "limit": 1.0}
      ],
      "load_metrics": [],                  # the same, where the load changed: the old keys under the old and new load
      "queries": [
        {"table": "Telemetry", "kind": null, "name": "latest", "access_before": "point", "access_after": "table scan",
         "direction": "worse"}
      ],
      "keys": [
        {"table": "Telemetry", "kind": null, "class": "rewrite", "entities": 41200000.0,
         "partition_key": ["{tenantId}", "{day}"], "row_key": ["{eventId}", "{eventId}"],
         "index_rows_added": [], "index_rows_removed": []}
      ],
      "fixed": [],                         # findings that are gone, each as in "findings"
      "counts": {"new": 1, "worse": 0, "unchanged": 2, "fixed": 0}
    }

``direction`` is better, worse, same (within 1 %) or unknown; ``class`` is none, additive, rewrite or unknown. Numbers
are null where they cannot be known; ``change`` is after - before. All metrics of a design without data are counts.
"""

from __future__ import annotations
