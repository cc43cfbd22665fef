"""The native chat platform: its formats and limits, which need no connection, and the only client
(`client`).
"""
