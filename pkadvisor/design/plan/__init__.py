"""How a request is answered under a scheme: the access plan, and how far a scan goes."""
