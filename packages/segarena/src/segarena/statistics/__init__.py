"""Statistics over values: curves over rounds, intervals, correlations, two-sample tests. Knows no records."""
