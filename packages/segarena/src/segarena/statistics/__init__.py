"""Statistics over values: curves over rounds, intervals, correlations, two-sample tests. Independent of records."""
