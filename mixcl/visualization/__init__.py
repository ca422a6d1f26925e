"""Figures and the report; figures.py has them by name."""
