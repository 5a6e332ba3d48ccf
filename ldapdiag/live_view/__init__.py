"""The live view: sources that are asked by timers, a model of what they said, and a screen of lines."""
