"""The job: its processes, their defaults and threads, what is counted, how it fails and ends."""
