"""From knowledge to a ranking of key schemes."""
