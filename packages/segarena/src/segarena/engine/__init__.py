"""The engine that runs dialogues: sessions, lockstep rounds, workers, and the store of records."""
