"""A hand that draws as people's do: it looks at a goal, makes drafts and keeps the likeliest.

Read `drawing` first. A goal becomes a `surface`; many `hands` walk over it at once, led by small `networks`: these are
`drafts`; `likeness` compares them with what people draw. `fitted` is the file that all of this was learnt into.
`pictures` and `goals` say where somebody draws.
"""
