"""What participants send to be judged here: masks, the folder of a run, a program. None of it is trusted."""
