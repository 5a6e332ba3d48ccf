"""Recognition of inputs, and reading with the format that recognises them."""
