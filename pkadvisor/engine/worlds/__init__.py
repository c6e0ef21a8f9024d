"""The world around the engine: time, chance, disks and network, simulated with faults or real."""
