"""Object stores: logs and other evidence in S3, Google Cloud Storage, Azure and what fsspec reads."""
