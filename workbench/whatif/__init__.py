"""What-if tools over a workbook: sweeps, Monte Carlo, least-loss plans, comparison of books.

They set cells and read cells; every estimate is computed by the workbook's own formulas.
"""
