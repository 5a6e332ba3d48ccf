"""A report as one self-contained HTML file: no script, no request, made from the report object of the JSON."""
