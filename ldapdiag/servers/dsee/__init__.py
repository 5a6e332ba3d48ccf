"""Directory Server Enterprise Edition of Sun and later Oracle, and its predecessors from 5.2 on."""
