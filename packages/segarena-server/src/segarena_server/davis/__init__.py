"""The addresses of the published challenge server, for programs that speak to it: a challenge of ours behind them.

    routes.py        the addresses, and what is said at each
    refusals.py      how these programs are told no
    rules.py         what a challenge must be, and its limits in their words
    exchange.py      a session's run, and the turns of each of its samples
    scores.py        the report and the summary of a run
    leaderboard.py   the best sessions

Samples, turns, clock, limits and run folders are those of every other participant; a program's own timing is advice.

Source: DAVIS Interactive Challenge, its package `davisinteractive` 1.0.4, as seen from outside.
"""
