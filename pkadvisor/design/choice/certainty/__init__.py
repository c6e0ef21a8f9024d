"""How sure an advice is: intervals of its costs, and which numbers would change it."""
