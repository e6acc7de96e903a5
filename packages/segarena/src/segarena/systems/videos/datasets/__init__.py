"""DAVIS, folders of videos, and generated videos."""
