"""HTTP interface of the published challenge server, for its existing client programs.

    routes.py           the endpoints
    refusals.py         errors in the format of the client
    rules.py            requirements on a challenge, and its limits
    davis_sessions.py   the run of a session, and the turns about each of its samples
    scores.py           the report and the summary of a run
    leaderboard.py      the best sessions

Samples, turns, clock, limits and run folders are the same as for other participants. The server
stores the client's own timing but does not charge it.

Source: the DAVIS Interactive Challenge's package `davisinteractive` 1.0.4, as observed from
outside.
"""
