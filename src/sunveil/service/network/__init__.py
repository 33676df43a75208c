"""The server's edge: connections and their limits, logs, metrics and what every request passes."""
