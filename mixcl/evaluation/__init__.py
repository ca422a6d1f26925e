"""What a pretrained backbone is worth: protocols, and the commands that run them."""
