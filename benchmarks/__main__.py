"""The quick set: ``make bench``, about five minutes, one table."""

from itertools import chain

from benchmarks import mixture_speed, spectral
from benchmarks.measure import print_table

print_table(chain(spectral.rows(), mixture_speed.rows()))
