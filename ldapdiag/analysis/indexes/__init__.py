"""How searches find their candidates, and the cheapest set of new indexes (docs/how-it-decides.md, "Indexes")."""
