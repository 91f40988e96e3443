"""A small in-memory Kubernetes API server: the demo's, the tests' and the benchmarks' upstream.

It serves a few built-in kinds and one custom kind with the semantics, the words and the status
codes of Kubernetes 1.37. `api` routes a request to its answer; everything behind it is pure:
no socket, no clock, `now` is an argument (float seconds since the epoch). It will never be a
part of `foyer serve`.
"""
