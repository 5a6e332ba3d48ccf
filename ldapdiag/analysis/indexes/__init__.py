"""How searches find their candidates, and the cheapest set of indexes that helps."""
