"""The quick set: ``make bench``, under three minutes, one table."""

from benchmarks import spectral
from benchmarks.measure import print_table

print_table(spectral.rows())
