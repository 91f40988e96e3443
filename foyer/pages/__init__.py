"""Server-rendered pages: templates and assets (spec 01, Pages)."""
