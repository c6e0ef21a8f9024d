"""The documents that commands write, as typed values; each writes its JSON Schema, and stored files are checked by it.

One module for each document. An object is a ``Part``, a closed ``msgspec.Struct``: a member that no field names is an
error. ``schema.py`` turns the types into the schemas that ``advisor config schema`` prints.
"""
