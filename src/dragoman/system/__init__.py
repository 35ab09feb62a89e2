"""Files and the machine: atomic writes, build cache, cores, devices."""
