Attribute VB_Name = "WorkbenchButtons"
Option Explicit
' One module for both hosts. In Excel, each macro starts the command that xlwings' RunPython would, so that
' Book.caller() finds this workbook; neither the xlwings add-in nor its VBA is needed. In LibreOffice, the
' macro hands over to the extension (workbench buttons install --libreoffice).
'
' The interpreter stands in the sheet xlwings.conf (INTERPRETER_WIN, INTERPRETER_MAC), as xlwings has it.

Private Sub RunWorkbench(ByVal action As String)
    If IsLibreOffice() Then
        WorkbenchLibreOffice.TriggerExtension action
    Else
        RunPythonProcess action
    End If
End Sub

Private Function IsLibreOffice() As Boolean
    ' Excel says "Windows (64-bit) NT 10.00" or "Macintosh (Intel) ..."; LibreOffice on Linux neither.
    IsLibreOffice = (InStr(Application.OperatingSystem, "Windows") = 0) And (InStr(Application.OperatingSystem, "Mac") = 0)
End Function

Private Sub RunPythonProcess(ByVal action As String)
    Dim quote As String, python As String, command As String, shell As Object
    quote = Chr(34)
    If InStr(Application.OperatingSystem, "Mac") > 0 Then
        MsgBox "On macOS use xlwings' Run main button: see the sheet xlwings.conf.", vbInformation
        Exit Sub
    End If
    python = Setting("INTERPRETER_WIN", "python")
    If InStr(python, "\") > 0 Then
        If Dir(python) = "" Then
            MsgBox "The Python interpreter " & python & " is gone: correct INTERPRETER_WIN in the sheet xlwings.conf.", vbCritical
            Exit Sub
        End If
    End If
    command = quote & python & quote & " -m workbench.buttons " & action
    command = command & " --wb=" & quote & ActiveWorkbook.Name & quote & " --from_xl=1 --hwnd=" & Application.Hwnd
    ' What Python can't write into the sheet stands here.
    command = command & " 2> " & quote & "%TEMP%\workbench-buttons.log" & quote
    Set shell = CreateObject("WScript.Shell")
    ' Window hidden, not waited for: Excel has to stay free for Python to talk to it.
    shell.Run "cmd.exe /C " & quote & command & quote, 0, False
End Sub

Private Function Setting(ByVal key As String, ByVal default As String) As String
    Dim row As Long, sheet As Object
    Setting = default
    On Error Resume Next
    Set sheet = ActiveWorkbook.Worksheets("xlwings.conf")
    For row = 1 To 30
        If UCase(sheet.Cells(row, 1).Value) = key Then
            If sheet.Cells(row, 2).Value <> "" Then Setting = sheet.Cells(row, 2).Value
        End If
    Next
End Function

' One macro for each action follows, written by: workbench buttons install
