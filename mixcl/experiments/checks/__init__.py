"""What is wrong with a config, before anything expensive is built."""
