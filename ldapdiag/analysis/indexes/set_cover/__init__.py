"""Weighted set cover with AND-OR demands: the cheapest set of elements that satisfies every demand.

cover.py      the demands, the cover, and how the parts below combine
problem.py    a problem in bit masks
reduction.py  what needs no search: forced elements, implied demands, replaceable elements
greedy.py     a good cover, quickly
bound.py      a lower bound for the cost of every cover
search.py     branch and bound between the two, within a budget of work
"""
