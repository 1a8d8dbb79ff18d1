"""The doors of the package, the ways of testing nothing or the wrong thing, and what has no cell.

A door is an entrance that gives a verdict. :data:`ENTRANCES` names the door of every subcommand, of
every Robot keyword and of every member of pytest's fixture and of live sessions; a new one needs a
row there. Each door needs for each way a cell (``cells.py``), or here a reason why it has none.
"""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase

WAYS = {
    "filter": "a filter, a number or a place that matches nothing",
    "name": "a misspelt name of what is asked for",
    "option": "a misspelt option, key or variable",
    "swapped": "another file in the place of the right one",
    "content": "the same name with other content",
    "stale": "what an earlier run left",
    "lost": "the target is lost while it runs",
    "absent": "a target that was asked for by name is not here",
    "skipped": "everything is skipped",
    "empty": "a file without content",
    "zero": "no inference, no value, nothing to compare",
    "table": "an emptied table",
    "clock": "a broken clock",
    "database": "the database of another project",
}

DOORS = {
    "run": "tflm-hil run",
    "crosscheck": "tflm-hil run --target A,B",
    "footprint": "tflm-hil footprint --budget",
    "resolver check": "tflm-hil resolver check",
    "arena": "tflm-hil arena",
    "layers": "tflm-hil layers",
    "sweep": "tflm-hil sweep",
    "campaign": "tflm-hil campaign --budget, --judge",
    "history record": "tflm-hil history record",
    "history check": "tflm-hil history check",
    "calibrate": "tflm-hil calibrate",
    "doctor": "tflm-hil doctor",
    "boards flash": "tflm-hil boards flash",
    "robot cases": "the keywords that run cases",
    "robot image": "the keywords about an image that does not run",
    "robot layers": "the keywords that compare layers",
    "robot lifecycle": "the keywords about a custom operator",
    "robot reference": "the keywords that compare arrays with the reference",
    "robot live": "the keywords of a session",
    "pytest cases": "case files that pytest collects",
    "pytest runs": "the fixture's runs",
    "pytest images": "the fixture's looks at an image",
    "pytest live": "the fixture's sessions",
    "action": "action.yml",
}

_LISTS = "it lists or writes what is there; nothing passes or fails by it"
_STEP = "it moves or asks a session; the keywords and calls that judge it have rows"
#: Subcommands, keywords (by library), members of the fixture and of live sessions: their door, or
#: the reason why they give no verdict.
ENTRANCES = {
    **{f"tflm-hil {name}": name for name in (
        "run", "footprint", "resolver check", "arena", "layers", "sweep", "campaign",
        "history record", "history check", "calibrate", "doctor", "boards flash")},
    "tflm-hil init": "- it writes a case file; `run` judges by it",
    "tflm-hil list chips": f"- {_LISTS}",
    "tflm-hil list samples": f"- {_LISTS}",
    "tflm-hil build": "- it makes an image; what cannot be built is an error",
    "tflm-hil resolver generate": f"- {_LISTS}",
    "tflm-hil resolver dump": f"- {_LISTS}",
    "tflm-hil reference": "- it computes; nothing is compared",
    "tflm-hil vectors": "- it reports what inputs notice; a case's budget judges by it",
    "tflm-hil history show": f"- {_LISTS}",
    "tflm-hil history report": f"- {_LISTS}",
    "tflm-hil history compare": f"- {_LISTS}",
    "tflm-hil history bisect": "- a run without the case is skipped: test_compare.py",
    "tflm-hil debug": "- it shows the image to a person: gdb's exit code, no verdict",
    "tflm-hil boards": f"- {_LISTS}",
    "tflm-hil boards release": "- it changes who may use a board",
    "tflm-hil boards take": "- it changes who may use a board",
    "tflm-hil virtual-board": "- it starts a board; what runs on it is judged elsewhere",
    "tflm-hil list paths": f"- {_LISTS}",
    "tflm-hil completion": f"- {_LISTS}",
    **{f"TflmHil.{name}": "robot cases" for name in (
        "Run Case", "Run Sample Case", "Run All Sample Cases", "Case Should End As",
        "Accuracy Should Equal The Card")},
    **{f"TflmHil.{name}": "robot image" for name in (
        "Flash Should Not Exceed", "RAM Should Not Exceed", "Get Size",
        "Resolver Check Should Say")},
    **{f"TflmHil.{name}": "robot live" for name in (
        "Start Target", "Wait For Inference", "Wait For End", "Wait For Line",
        "Outputs Should Match Reference", "Target Should Report",
        "Target Should Report Missing Operator", "Target Should Report Nothing", "Pin Should Be")},
    "TflmHil.Plan Of": "- it runs nothing",
    "TflmHil.Build Firmware": "- it makes an image; what cannot be built fails",
    "TflmHil.Build All Firmware": "- it makes images; what cannot be built fails",
    **{f"TflmHil.{name}": f"- {_STEP}" for name in (
        "Stop Target", "Press Button", "Drive Pin", "Write Line", "Run For", "Reset Target",
        "Read Memory", "Call Stack")},
    "Layers.Layers Should Equal Reference": "robot layers",
    "Layers.First Diverging Operator Should Be": "robot layers",
    "OperatorLifecycle.Lifecycle Should Be As Documented": "robot lifecycle",
    "OperatorLifecycle.Lifecycle Should Count": "robot lifecycle",
    "Reference.Outputs Should Equal Reference": "robot reference",
    "Reference.Adequacy Should Be At Least": "robot reference",
    "Reference.Reference Outputs": "- it computes; nothing is compared",
    "hil.run": "pytest runs",
    "hil.session": "pytest live",
    "hil.footprint": "pytest images",
    "hil.check_resolver": "pytest images",
    "hil.layers": "- it returns the table of operators; the test asserts that they are equal",
    "hil.build": "- it makes an image; what cannot be built raises",
    "hil.close": "- it frees what is left; hil.judge has judged",
    "hil.judge": "pytest live",
    "hil.consoles": "- it shows what was read, and judges nothing",
    **{f"live.{name}": "pytest live" for name in (
        "wait_for", "wait_for_inferences", "wait_for_end", "check_outputs", "check_reported",
        "findings", "inferences", "ended", "judge")},
    **{f"live.{name}": f"- {_STEP}" for name in (
        "open", "close", "memory", "address", "kit", "pins", "transcript", "write", "reset",
        "run_for", "call_stack", "abandon", "checked", "failure")},
}  # fmt: skip


@dataclass(frozen=True)
class Empty:
    """Doors and ways (shell patterns, several separated by ``|``) that have no cell, and why."""

    doors: str
    ways: str
    reason: str

    def covers(self, door: str, way: str) -> bool:
        return _fits(door, self.doors) and _fits(way, self.ways)


def _fits(name: str, patterns: str) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns.split("|"))


_FILES_ONLY = (
    "footprint|resolver check|history record|calibrate|robot image|robot reference|pytest images"
)
_IMAGE_DOORS = "footprint|resolver check|arena|layers|robot image|robot layers|pytest images"

EMPTY = (
    Empty(_FILES_ONLY, "lost|absent|skipped", "no target runs: it reads files"),
    Empty("history check", "lost|absent", "no target runs: it reads a history"),
    Empty("doctor", "filter|name|swapped|content|stale|lost|empty|zero|database|clock|table",
          "it looks at this machine alone, anew each time"),
    Empty("doctor", "skipped", "nothing that is required can be skipped"),
    Empty("boards flash", "content|stale|zero|table|clock|database|skipped|lost|swapped",
          "it writes what it is given, and reads it back from the board: tests/unit/board"),
    Empty("arena|campaign|sweep", "lost", "their target is the simulator, which is not unplugged"),
    Empty("arena|campaign", "absent|skipped", "they run on the simulator alone"),
    Empty("layers|robot layers", "skipped", "one image on one target, which `absent` covers"),
    Empty("robot live|pytest live", "skipped", "one session on one target: `absent` covers it"),
    Empty("sweep", "skipped", "a target that is missing ends a sweep: `absent` covers it"),
    Empty(_IMAGE_DOORS, "table", "no table is read but that of samples, whose row is run's"),
    Empty("crosscheck", "filter|option|stale|table|clock|database|content|empty|swapped",
          "the same options and files as run; both targets get one image"),
    Empty("robot live|pytest live|pytest runs|robot lifecycle|pytest cases|robot cases",
          "table", "samples come from the same table as run's"),
    Empty("campaign|history *|calibrate|robot reference|action", "table",
          "no table is read but that of samples or budgets, whose rows are run's"),
    Empty("footprint|resolver check|arena|layers|sweep|campaign|calibrate|robot image|"
          "robot layers|robot lifecycle|robot reference|pytest images|history record",
          "clock", "no time is measured, or only that of the target's instructions"),
    Empty("run|robot cases|robot live|pytest cases|pytest runs|pytest live|action", "clock",
          "the target's clock counts instructions; the host's is only a guard against hangs"),
    Empty("footprint|resolver check|arena|layers|campaign|calibrate|robot image|robot layers|"
          "robot lifecycle|robot reference|robot live|pytest runs|pytest images|pytest live",
          "database", "no database is opened, or by the same call as pytest's and run's"),
    Empty(_IMAGE_DOORS + "|robot reference|robot live|pytest live|robot lifecycle", "stale",
          "nothing is kept from one call to the next"),
    Empty(_IMAGE_DOORS + "|robot reference|robot live|pytest live|robot lifecycle|calibrate",
          "content", "files are read anew at each call: `swapped` is the same"),
    Empty("campaign", "stale", "its store is a sweep's: one fingerprint, one refusal"),
    Empty("history record|calibrate", "filter", "it takes whole files"),
    Empty("history record", "stale|content", "a run is kept by a hash of its content"),
    Empty("history record", "swapped|zero", "what is recorded is judged by `history check`"),
    Empty("footprint", "swapped", "a baseline is the image that the user names; there is no other"),
    Empty("robot lifecycle", "lost|absent|skipped|filter",
          "it reads the result of a case, which ran or failed the test before"),
    Empty("robot reference", "filter", "it takes whole arrays"),
    Empty("robot image|pytest images", "filter", "they look at the whole image"),
    Empty("arena", "swapped|filter|zero", "it asks nothing but the image that it is given"),
    Empty("boards flash", "filter", "a board is named, by `name`"),
    Empty("action", "lost", "it calls `tflm-hil run`, whose cell it is"),
    Empty("action", "option", "GitHub drops inputs that an action does not declare, and warns"),
    Empty("pytest runs|pytest images|pytest live", "option",
          "a misspelt keyword argument is Python's TypeError"),
    Empty("robot *", "empty", "images, models and case files are read as by the subcommands"),
)  # fmt: skip
