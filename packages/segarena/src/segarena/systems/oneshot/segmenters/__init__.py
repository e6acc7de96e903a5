"""Salience alone, and salience around any one-shot segmenter."""
