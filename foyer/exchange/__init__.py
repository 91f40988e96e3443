"""The exchange (RFC 9113 section 8.1): one request and its response, between two sides."""
