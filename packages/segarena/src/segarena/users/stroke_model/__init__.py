"""Stroke model fitted to people: draws candidate strokes on a goal and keeps a likely one.

Start reading at `stroke_sampling`. A goal becomes a `surface`. `drawing_agents` walk over it, each
steered by a small `network` for starts, courses and steps, and so draw `candidates`. Another
network predicts from their `candidate_features` how likely people are to draw each of them. `model`
is the file with all fitted values. `picture_selection` and `stroke_goals` choose where to draw.
"""
