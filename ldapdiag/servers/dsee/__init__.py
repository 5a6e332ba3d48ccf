"""Directory Server Enterprise Edition: of Sun, then of Oracle, and its forerunners from 5.2 on."""
