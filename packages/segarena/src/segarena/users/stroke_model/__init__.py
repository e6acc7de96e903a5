"""Stroke model fitted to people: draws candidate strokes on a goal and keeps a likely one.

Start with `stroke_sampling`. A goal becomes a `surface`; `drawing_agents` walk over it, steered by
a small `network` each for starts, courses and steps, and so draw `candidates`. From their
`candidate_features`, another network predicts how likely people are to draw each. `model` is the
file with all fitted values. `picture_selection` and `stroke_goals` choose where to draw.
"""
