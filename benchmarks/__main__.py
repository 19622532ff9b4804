"""Speed and memory in one table: ``make bench``, about five minutes."""

from itertools import chain

from benchmarks import mixture_speed, spectral
from benchmarks.measure import print_table

print_table(chain(spectral.rows(), mixture_speed.rows()))
