"""foyer's compiled half: what is too hot for Python, each with a twin in Python that the tests hold it to."""
