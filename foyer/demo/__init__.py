"""Everything on one machine with nothing to configure: a stand-in issuer and API server. Never imported by `serve`."""
