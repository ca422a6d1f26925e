"""--data of the commands: from a folder of images to a run, an evaluation and features with labels."""
