"""The embedded service, after the Windows Azure Storage paper (SOSP 2011); it knows nothing of key design."""
