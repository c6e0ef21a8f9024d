"""One module for each command, and the helpers of the large ones."""
