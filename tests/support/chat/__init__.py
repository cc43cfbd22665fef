"""The chat platform on the loopback interface: its REST API and rules, and people who use its client."""
