"""What of a person's prompt can be measured, so that a simulated user's can be held beside it."""
