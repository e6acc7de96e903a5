"""The interface of the published challenge server, so that its client programs can take part in our challenges.

    routes.py           the endpoints
    refusals.py         errors in the format of the client
    rules.py            requirements on a challenge, and its limits
    davis_sessions.py   the run of a session, and the turns about each of its samples
    scores.py           the report and the summary of a run
    leaderboard.py      the best sessions

Samples, turns, clock, limits and run folders are those of every other participant; the client's own timing is stored
and not charged.

Source: DAVIS Interactive Challenge, its package `davisinteractive` 1.0.4, by its observable behaviour.
"""
