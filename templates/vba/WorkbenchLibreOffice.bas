Attribute VB_Name = "WorkbenchLibreOffice"
' Runs in LibreOffice only; a module of its own because Excel has no GetProcessServiceManager.

Public Sub TriggerExtension(ByVal action As String)
    Dim services As Object, buttons As Object
    Set services = GetProcessServiceManager()
    Set buttons = services.createInstance("org.workbench.Buttons")
    If IsNull(buttons) Then
        MsgBox "The Workbench extension is not installed. Run: workbench buttons install --libreoffice"
    Else
        buttons.trigger action
    End If
End Sub
