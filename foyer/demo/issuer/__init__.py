"""A stand-in OIDC issuer: just enough of OpenID Connect Core 1.0 to sign the demo's people in."""
