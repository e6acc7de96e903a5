"""What people do when they prompt: how they differ, where their edges and clicks fall, and how long they take."""
