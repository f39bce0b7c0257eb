"""Recalculation: XLSX to values, every formula, nothing lost."""
