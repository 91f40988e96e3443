"""Fleet reads: one list over every target (spec 06, Targets and fleet reads)."""
