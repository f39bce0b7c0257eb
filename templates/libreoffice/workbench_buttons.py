"""Runs inside LibreOffice: a button's URL `org.workbench.buttons:ACTION` starts the workbench on its document.

The work is done by a child process (`PYTHON -m workbench.buttons ACTION …`) that drives the document over a
private pipe, so LibreOffice stays responsive. This file knows nothing of the workbench but that command; the
interpreter and the log file stand in `workbench.ini` beside it, written by `workbench buttons install`.
"""

# ruff: noqa: N802, N816  UNO's names

import configparser
import json
import os
import pathlib
import subprocess
import tempfile
import threading
import time
import uuid

import uno
import unohelper
from com.sun.star.awt import XCallback
from com.sun.star.bridge import XInstanceProvider
from com.sun.star.frame import DispatchResultEvent, FeatureStateEvent, XDispatchProvider, XNotifyingDispatch
from com.sun.star.lang import XInitialization, XServiceInfo
from com.sun.star.task import XJobExecutor

IMPLEMENTATION = "org.workbench.Buttons"
PROTOCOL = "org.workbench.buttons:"
SPREADSHEET = "com.sun.star.sheet.SpreadsheetDocument"
MESSAGES = "Workbench messages"
RESULT_SHOWN_S = 6.0

_pipe = None
_running = {}
_lock = threading.Lock()


def settings():
    """The section `workbench` of `workbench.ini`: python, module, log."""
    parser = configparser.ConfigParser(interpolation=None)
    parser.read(os.environ.get("WORKBENCH_BUTTONS_INI") or pathlib.Path(__file__).with_name("workbench.ini"))
    return dict(parser["workbench"]) if parser.has_section("workbench") else {}


class OfficeContext(unohelper.Base, XInstanceProvider):
    """Hands our component context to a child that connects through the pipe."""

    def __init__(self, context):
        self.context = context

    def getInstance(self, name):
        return self.context if name == "StarOffice.ComponentContext" else None


def listening_pipe(context):
    """The connection string of a pipe that accepts children; opened at the first button press."""
    global _pipe
    with _lock:
        if _pipe is None:
            name = "workbench" + uuid.uuid4().hex
            manager = context.ServiceManager
            acceptor = manager.createInstanceWithContext("com.sun.star.connection.Acceptor", context)
            factory = manager.createInstanceWithContext("com.sun.star.bridge.BridgeFactory", context)

            def accept():
                while True:
                    connection = acceptor.accept("pipe,name=" + name)
                    if connection is None:
                        return
                    factory.createBridge("", "urp", connection, OfficeContext(context))

            threading.Thread(target=accept, daemon=True).start()
            _pipe = "pipe,name=" + name
    return _pipe


def spreadsheet_of(context, frame):
    """The document of the window whose button was pressed; without a frame, the one with the focus."""
    if frame is not None and frame.Controller is not None:
        return frame.Controller.Model
    desktop = context.ServiceManager.createInstanceWithContext("com.sun.star.frame.Desktop", context)
    current = desktop.CurrentComponent
    if current is not None and current.supportsService(SPREADSHEET):
        return current
    components = desktop.Components.createEnumeration()
    while components.hasMoreElements():
        component = components.nextElement()
        if hasattr(component, "supportsService") and component.supportsService(SPREADSHEET):
            return component
    return None


def child_environment():
    """Our environment without what LibreOffice sets for its own Python and libraries."""
    dropped = ("PYTHON", "LD_LIBRARY_PATH", "LD_PRELOAD", "URE_", "UNO_")
    return {name: value for name, value in os.environ.items() if not name.startswith(dropped)}


def log_file(chosen):
    """Where the child's errors go; nowhere where that folder can't be made."""
    path = pathlib.Path(chosen.get("log") or os.devnull)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.open("ab").close()
    except OSError:
        return pathlib.Path(os.devnull)
    return path


def ignore(outcome):
    """Nobody waits for the outcome."""


def run(context, document, action, ended=ignore):
    """Start `action` on `document`, or cancel the one that runs there; `ended` gets the outcome, or None."""
    key = document.RuntimeUID
    with _lock:
        busy = _running.get(key)
    if action == "cancel":
        if busy is None:
            show(context, document, "Nothing is running.")
        else:
            busy.touch()
        ended(None)
        return
    if busy is not None:
        show(context, document, "An action is still running on this document; press Cancel to end it.")
        ended(None)
        return
    chosen = settings()
    python = chosen.get("python", "")
    if not python or not os.access(python, os.X_OK):
        report(
            context,
            document,
            action,
            f"The Python interpreter of the workbench is gone ({python or 'none configured'}). "
            "Install the buttons again: workbench buttons install --libreoffice",
        )
        ended(None)
        return
    flag = pathlib.Path(tempfile.gettempdir(), "workbench-cancel-" + uuid.uuid4().hex)
    command = [python, "-P", "-m", chosen.get("module", "workbench.buttons"), action]
    command += ["--uno", listening_pipe(context), "--book", key, "--cancel", str(flag)]
    try:
        with log_file(chosen).open("ab") as log:
            child = subprocess.Popen(
                command,
                env=child_environment(),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=log,
                start_new_session=True,
            )
    except OSError as error:
        report(context, document, action, f"The workbench could not be started: {error}")
        ended(None)
        return
    with _lock:
        _running[key] = flag
    frame = document.CurrentController.Frame if document.CurrentController is not None else None
    arguments = (context, document, frame, key, action, child, flag, ended)
    threading.Thread(target=follow, args=arguments, daemon=True).start()


def follow(context, document, frame, key, action, child, flag, ended):
    """Wait for the child, then show its outcome: one line of JSON on its standard output."""
    threading.Thread(target=cancel_when_closed, args=(frame, child, flag), daemon=True).start()
    output = child.stdout.read().decode("utf-8", "replace").strip().splitlines()
    status = child.wait()
    with _lock:
        _running.pop(key, None)
    flag.unlink(missing_ok=True)
    try:
        outcome = json.loads(output[-1]) if output else {}
    except ValueError:
        outcome = {}
    try:
        if frame is not None and frame.Controller is not None:
            document = frame.Controller.Model  # its file may have been replaced and loaded again
        if "message" not in outcome:
            log = settings().get("log", "")
            report(context, document, action, f"The workbench ended without a result (exit code {status}); see {log}")
        else:
            if outcome.get("unreported"):
                box(context, document, outcome["message"])
            show(context, document, outcome["message"])
    except Exception:  # the document was closed meanwhile: there is nothing left to show anything in
        pass
    ended(outcome)


def cancel_when_closed(frame, child, flag):
    """Nobody waits for an action any more whose window was closed; a file being replaced closes it for a moment."""
    missing = 0
    while frame is not None and child.poll() is None and missing < 4:
        time.sleep(0.5)
        try:
            missing = 0 if frame.Controller is not None else missing + 1
        except Exception:  # the frame is gone, too
            missing += 1
    if missing and child.poll() is None:
        flag.touch()


def show(context, document, text):
    """Show `text` in the status bar for a few seconds."""
    controller = document.CurrentController
    if controller is None:
        return
    indicator = controller.Frame.createStatusIndicator()
    indicator.start(text, 0)

    def end():
        time.sleep(RESULT_SHOWN_S)
        try:
            indicator.end()
        except Exception:  # closed meanwhile
            return

    threading.Thread(target=end, daemon=True).start()


def report(context, document, action, text):
    """An error that happened before the workbench could speak: into the messages sheet, or into a box."""
    try:
        sheets = document.Sheets
        if not sheets.hasByName(MESSAGES):
            sheets.insertNewByName(MESSAGES, sheets.Count)
        sheet = sheets.getByName(MESSAGES)
        sheet.Rows.insertByIndex(0, 1)
        row = (time.strftime("%Y-%m-%d %H:%M:%S"), action, "error", text)
        sheet.getCellRangeByPosition(0, 0, 3, 0).setDataArray((row,))
        if document.CurrentController is not None:
            document.CurrentController.setActiveSheet(sheet)
    except Exception:  # the document's structure is protected, or it is gone
        box(context, document, text)
    show(context, document, text)


class ShowBox(unohelper.Base, XCallback):
    def __init__(self, context, document, text):
        self.context, self.document, self.text = context, document, text

    def notify(self, data):
        window = self.document.CurrentController.Frame.ContainerWindow
        toolkit = self.context.ServiceManager.createInstanceWithContext("com.sun.star.awt.Toolkit", self.context)
        kind = uno.Enum("com.sun.star.awt.MessageBoxType", "ERRORBOX")
        toolkit.createMessageBox(window, kind, 1, "Workbench", self.text).execute()


def box(context, document, text):
    """A message box, from the main thread, where there is a window to show it in."""
    controller = document.CurrentController
    if controller is None or not controller.Frame.ContainerWindow.isVisible():
        return
    if "--headless" in " ".join(map(str, getattr(context, "arguments", ()))) or not os.environ.get("DISPLAY"):
        return
    caller = context.ServiceManager.createInstanceWithContext("com.sun.star.awt.AsyncCallback", context)
    caller.addCallback(ShowBox(context, document, text), None)


class Buttons(unohelper.Base, XServiceInfo, XInitialization, XDispatchProvider, XNotifyingDispatch, XJobExecutor):
    """Handles `org.workbench.buttons:ACTION` for one window; `trigger(ACTION)` serves Basic macros."""

    def __init__(self, context):
        self.context = context
        self.frame = None

    def initialize(self, arguments):
        if arguments:
            self.frame = arguments[0]

    def queryDispatch(self, url, target, flags):
        return self if url.Complete.startswith(PROTOCOL) else None

    def queryDispatches(self, requests):
        return tuple(self.queryDispatch(r.FeatureURL, r.FrameName, r.SearchFlags) for r in requests)

    def dispatch(self, url, arguments):
        self._start(url.Complete[len(PROTOCOL) :])

    def dispatchWithNotification(self, url, arguments, listener):
        """As `dispatch`; at the end `listener` gets the outcome as JSON, empty where the action did not run."""

        def ended(outcome):
            event = DispatchResultEvent()
            event.Source = self
            event.State = 1 if outcome and outcome.get("exit_code") == 0 else 0
            event.Result = json.dumps(outcome) if outcome else ""
            try:
                listener.dispatchFinished(event)
            except Exception:  # the listener is gone
                return

        self._start(url.Complete[len(PROTOCOL) :], ended)

    def trigger(self, action):
        self._start(action)

    def _start(self, action, ended=ignore):
        document = spreadsheet_of(self.context, self.frame)
        if document is None:
            ended(None)
        else:
            run(self.context, document, action, ended)

    def addStatusListener(self, listener, url):
        event = FeatureStateEvent()
        event.Source, event.FeatureURL, event.IsEnabled, event.Requery = self, url, True, False
        listener.statusChanged(event)

    def removeStatusListener(self, listener, url):
        pass

    def getImplementationName(self):
        return IMPLEMENTATION

    def supportsService(self, name):
        return name in self.getSupportedServiceNames()

    def getSupportedServiceNames(self):
        return (IMPLEMENTATION, "com.sun.star.frame.ProtocolHandler")


g_ImplementationHelper = unohelper.ImplementationHelper()
g_ImplementationHelper.addImplementation(
    Buttons, IMPLEMENTATION, (IMPLEMENTATION, "com.sun.star.frame.ProtocolHandler")
)
