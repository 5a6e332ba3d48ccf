"""Two reports of one command compared: what is new, worse, better, the same, gone, or not seen any more."""
