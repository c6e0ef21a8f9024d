"""JSON documents of results and reviews, and the pages made from them."""
