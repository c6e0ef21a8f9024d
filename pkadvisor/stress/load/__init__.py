"""When requests come: arrivals, shapes, recorded logs, cluster traces, faults."""
