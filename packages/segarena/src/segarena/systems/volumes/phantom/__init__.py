"""The generated body of the dataset `phantom`."""
