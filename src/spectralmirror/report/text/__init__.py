"""The sentences of the report: Jinja macros, and the Python that formats their numbers."""
