"""stub"""
NAME="Azure Monitor"
def claims(head): return False
def frames(*a): return iter(())
