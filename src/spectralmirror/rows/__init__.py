"""Rows wherever they are (in memory, in files, on a cluster), and sums over them."""
