"""How much may be asked of each target at once, and how much read into memory: lines, and no clocks."""
