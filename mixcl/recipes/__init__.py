"""Recipes: configs that say facts, and the one function that makes mmengine's sections of them."""
