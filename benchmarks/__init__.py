"""Speed, measured: ``python run.py bench [NAME ...] [OPTIONS]``. Nothing here is a test; nothing in tests is timed."""
