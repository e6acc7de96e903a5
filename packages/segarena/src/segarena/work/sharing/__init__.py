"""Several processes, on any hosts, at one work in one folder: each claims units; what the dead claimed is free again.

`presence` says who is there, `log` keeps what each of them said in one order, `shares` adds that up to who does what,
`locks` keeps out who works alone, and `claims` is one process's part in it.
"""
