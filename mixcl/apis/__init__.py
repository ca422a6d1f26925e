"""What commands, notebooks and other people's code call."""
