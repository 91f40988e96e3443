"""Signing in at the OIDC issuer (spec 02)."""
