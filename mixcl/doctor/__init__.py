"""Looks at an installation: what is there, what is missing, what it is for, and the command that helps.

``python -m mixcl.doctor``
"""
