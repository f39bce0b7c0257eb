"""Buttons in Excel books: a VBA project written without Excel, put losslessly into any .xlsx or .xlsm."""
