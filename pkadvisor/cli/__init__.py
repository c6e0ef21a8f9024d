"""The command line: parse, call a use case, render, choose the exit code."""
