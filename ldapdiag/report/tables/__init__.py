"""The tables of reports, for CSV: columns picked from the rows of a report object."""
