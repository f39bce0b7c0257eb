"""What the buttons do, written once against xlwings; the work is done by the functions that the commands use."""
