"""What a listener serves: each request to its route, each ending to its record (spec 01, Routes; spec 04)."""
