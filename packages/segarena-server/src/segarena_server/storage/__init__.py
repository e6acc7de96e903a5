"""Files: the data folder, content-addressed storage, S3, run folders, backups."""
