"""The formats of socket tables and of middleboxes' flow tables."""
