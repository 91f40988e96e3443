"""Everything on one machine with nothing to configure: a stand-in issuer and API server (spec 01).

Never imported by `serve`.
"""
