"""Read admission before API servers that are not there: hours of them in a second, the same every time."""
