"""What the index remedies of all products share: candidates, answers before and after, list views, advice."""
