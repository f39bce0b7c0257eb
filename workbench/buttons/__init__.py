"""The workbench inside Excel and inside LibreOffice: buttons, menus and the actions behind them."""
