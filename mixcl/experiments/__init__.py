"""Reading a config, changing it by options, and checking it, until the Runner gets it. Nothing else changes it."""
