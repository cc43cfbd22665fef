"""The native chat platform: its formats and limits, which are pure, and the only line out (`client`)."""
