"""How a spreadsheet function is declared: its body plus its properties, in one place.

A function is one decorated Python function; `name` is Excel's, without `_xlfn.`. The wrapper in
`calling.py` evaluates, coerces and broadcasts the arguments and propagates errors, so bodies hold arithmetic
only. Five styles, by what the body receives:

`@vector("ROUND", NUMBER, NUMBER)`
    NumPy arrays that broadcast with each other (axes S, F, R, C): NUMBER → float64, INTEGER → float64
    truncated, TEXT → object array of str, LOGICAL → bool array, ANY/RAW → `Value` (mixed kinds), ARRAY/RANGE → `Value`
    with whole R x C (its S and F broadcast with the others), NUMBERS → float64 R x C.
    Returns an array (kind given by `result=`: NUMBER, BOOL or TEXT), a `Value`, or `(array, codes)` where `codes` holds
    error codes, 0 for none (`codes_where((x < 0, NUM), (y == 0, DIV0))`). NaN and infinities become #NUM!.
    Preferred for arithmetic and lookups: it is the fast one.
`@scalar("LEFT", TEXT, opt(NUMBER, 1.0))`
    called for each element with Python values: float, str, bool, or for ANY any `Scalar`. Returns a `Scalar`.
    Preferred for texts and for hard numerics.
`@aggregate("SUM")`
    `body(x, where)`: all numbers of all arguments of a lane, `x` of shape (S, F, n), C-contiguous and 0 where
    not counted; `where` is None when all count, else a bool array of the same shape. Returns (S, F) or
    `((S, F), codes)`. References skip texts, booleans and blanks; direct arguments are coerced; errors win.
    `counts_all=True` is the A-variant (AVERAGEA, MAXA): texts in references count as 0, booleans as 0/1.
    `logicals=True` is AND, OR, XOR: booleans in references count too, direct texts are TRUE or FALSE.
    `result=BOOL` turns the result into booleans.
`@lane("MMULT", NUMBERS, NUMBERS)`
    called for each lane: ARRAY/RANGE → 2-D object array of `Scalar`, NUMBERS → 2-D float array (#VALUE! if one is
    no number), scalar parameters → Python values. Returns a `Scalar`, a list of rows, a 2-D array (object or
    float), or a `Value`.
    An array given to a scalar parameter is lifted: the function is called for each of its elements.
    Preferred for array functions (FILTER, SORT, LINEST, TEXTSPLIT).
`@lazy("IF", minimum=2, maximum=3)`
    receives the `Call` and evaluates arguments itself; returns an `Operand`. For control flow, LAMBDA helpers and
    functions of references (OFFSET, ROW, CELL).

Any body may raise `Failure(CellErrorValue.NUM)`; scalar and lane bodies may return a `CellErrorValue`.
In scalar and lane bodies OverflowError becomes #NUM! and ZeroDivisionError #DIV/0!.

Lookup indices: a table read by many cells arrives as the *same* `Value` object, so
`table.memo(("sorted", column), build)` builds an index once. When `table.shape[0] == 1` it varies with no
scenario, when `table.shape[1] == 1` it is common to all cells of the family: take the O(n) path then.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypeVar

from workbench.recalc import values
from workbench.recalc.values import Bools, Scalar, Value

if TYPE_CHECKING:
    from workbench.recalc.nodes import Node
    from workbench.recalc.references import Reference


class Takes(enum.Enum):
    """What a parameter is turned into."""

    NUMBER = "number"
    INTEGER = "integer"
    TEXT = "text"
    LOGICAL = "logical"
    ANY = "any"
    """One value of any kind; errors propagate."""
    RAW = "raw"
    """One value of any kind; errors are passed in (ISERROR, TYPE, ERROR.TYPE)."""
    ARRAY = "array"
    """A whole array; its expression is evaluated as an array (SUMPRODUCT, MATCH's table). Errors are elements."""
    AREAS = "areas"
    """As ARRAY, for functions that also take several areas, `RANK(A1,(B1:B9,D1:D9))`: these come as one column."""
    RANGE = "range"
    """A whole array, but expressions in it follow the formula's own mode, as in SUM (COUNTIF's range)."""
    NUMBERS = "numbers"
    """As ARRAY, of numbers only: blank is 0, anything else is #VALUE!, errors propagate."""


@dataclass(frozen=True)
class Parameter:
    """One parameter; `optional` ones take `default` when left out (as given, without coercion)."""

    takes: Takes
    optional: bool = False
    default: Any = None
    empty_is_default: bool = False
    """Whether an empty argument, as in `F(1,)`, counts as left out; else it is a blank."""


class Style(enum.Enum):
    VECTOR = "vector"
    SCALAR = "scalar"
    AGGREGATE = "aggregate"
    LANE = "lane"
    LAZY = "lazy"


@dataclass(frozen=True)
class Function:
    """A declared spreadsheet function."""

    name: str
    style: Style
    body: Callable[..., Any]
    parameters: tuple[Parameter, ...] = ()
    repeat: int = 0
    """How many of the last parameters may be given again and again (SUMIFS: 2)."""
    minimum: int = 0
    maximum: int = 255
    result: int = values.NUMBER
    volatile: bool = False
    counts_all: bool = False
    logicals: bool = False
    returns_reference: bool = False
    """Whether the result may be a reference (OFFSET, INDEX, IF, CHOOSE, INDIRECT)."""

    def parameter(self, index: int) -> Parameter:
        """The parameter that argument `index` goes to."""
        if index < len(self.parameters):
            return self.parameters[index]
        back = (index - len(self.parameters)) % self.repeat
        return self.parameters[len(self.parameters) - self.repeat + back]


FUNCTIONS: dict[str, Function] = {}
"""Every function by its upper-case name; filled by the decorators when `functions/` is imported."""

NUMBER = Parameter(Takes.NUMBER)
INTEGER = Parameter(Takes.INTEGER)
TEXT = Parameter(Takes.TEXT)
LOGICAL = Parameter(Takes.LOGICAL)
ANY = Parameter(Takes.ANY)
RAW = Parameter(Takes.RAW)
ARRAY = Parameter(Takes.ARRAY)
AREAS = Parameter(Takes.AREAS)
RANGE = Parameter(Takes.RANGE)
NUMBERS = Parameter(Takes.NUMBERS)


def opt(parameter: Parameter, default: Any = None, *, empty: bool = False) -> Parameter:
    """`parameter`, optional. `default` is handed to the body as it is; `empty=True`: also for `F(1,)`."""
    return replace(parameter, optional=True, default=default, empty_is_default=empty)


Body = TypeVar("Body", bound=Callable[..., Any])


def _register(names: str, style: Style, parameters: tuple[Parameter, ...], **more: Any) -> Callable[[Body], Body]:
    def declare(body: Body) -> Body:
        repeat = more.get("repeat", 0)
        given = dict(more)
        given.setdefault("minimum", sum(not p.optional for p in parameters))
        given.setdefault("maximum", 255 if repeat else len(parameters))
        for name in names.split():
            if name in FUNCTIONS:
                raise ValueError(f"{name} is declared twice")
            FUNCTIONS[name] = Function(name, style, body, parameters, **given)
        return body

    return declare


def vector(
    names: str, *parameters: Parameter, result: int = values.NUMBER, repeat: int = 0, volatile: bool = False
) -> Callable[[Body], Body]:
    """Declare a body on NumPy arrays; `names` may hold several, separated by blanks."""
    return _register(names, Style.VECTOR, parameters, result=result, repeat=repeat, volatile=volatile)


def scalar(names: str, *parameters: Parameter, repeat: int = 0, volatile: bool = False) -> Callable[[Body], Body]:
    """Declare a body on Python values, called for each element. With `repeat`, extra values follow positionally."""
    return _register(names, Style.SCALAR, parameters, repeat=repeat, volatile=volatile)


def aggregate(
    names: str, *, counts_all: bool = False, logicals: bool = False, result: int = values.NUMBER
) -> Callable[[Body], Body]:
    """Declare a body on all the numbers of a lane."""
    return _register(
        names,
        Style.AGGREGATE,
        (),
        counts_all=counts_all,
        logicals=logicals,
        result=result,
        minimum=1,
        maximum=255,
    )


def lane(names: str, *parameters: Parameter, repeat: int = 0, volatile: bool = False) -> Callable[[Body], Body]:
    """Declare a body on 2-D arrays, called for each lane."""
    return _register(names, Style.LANE, parameters, repeat=repeat, volatile=volatile)


def lazy(
    names: str, *, minimum: int = 0, maximum: int = 255, volatile: bool = False, returns_reference: bool = False
) -> Callable[[Body], Body]:
    """Declare a body that evaluates its own arguments."""
    return _register(
        names,
        Style.LAZY,
        (),
        minimum=minimum,
        maximum=maximum,
        volatile=volatile,
        returns_reference=returns_reference,
    )


@dataclass(frozen=True, eq=False)
class Lambda:
    """A LAMBDA with the names bound where it was written."""

    parameters: tuple[str, ...]
    body: Node
    bound: dict[str, Operand]


Operand: TypeAlias = "Value | Reference | Lambda"


class Call(Protocol):
    """What a lazy body sees of the call being evaluated. Arguments are counted from 0."""

    name: str

    @property
    def nodes(self) -> tuple[Node, ...]:
        """The argument expressions."""

    @property
    def bound(self) -> dict[str, Operand]:
        """The names that LET and LAMBDA have bound here, in upper case."""

    def __len__(self) -> int:
        """How many arguments were given (empty ones count)."""

    def missing(self, index: int) -> bool:
        """Whether argument `index` was left out or is empty."""

    def operand(self, index: int) -> Operand:
        """The argument as it is: a reference is not dereferenced."""

    def value(self, index: int) -> Value:
        """The argument's value; a range is intersected with the cell's row or column in a plain formula."""

    def array(self, index: int) -> Value:
        """The argument's value as a whole array, its expression evaluated as an array."""

    def range(self, index: int) -> Value:
        """The argument's value as a whole array, its expression evaluated in the formula's own mode."""

    def parts(self, index: int) -> Iterator[Value]:
        """The whole values of all areas of an argument (a union, a 3-D reference)."""

    def shown_parts(
        self, index: int, *, hidden: bool, filtered: bool, nested: bool
    ) -> Iterator[tuple[Value, Bools | None]]:
        """As `parts`, of a reference, each with a mask (R, C) of what to skip: rows hidden by hand or a filter, rows
        that a filter hides, cells with subtotals of their own."""

    def scalar(self, index: int) -> Scalar:
        """The argument as one Python value; raises Unvectorisable when it varies over lanes."""

    def reference(self, index: int) -> Reference:
        """The argument as a reference; #VALUE! when it is none."""

    def dereferenced(self, operand: Operand) -> Value:
        """The whole value of an operand."""

    def function(self, index: int) -> Lambda:
        """The argument as a LAMBDA (or the name of a function, as in `MAP(A1:A3,SUM)`); #VALUE! when it is none."""

    def apply(self, function: Lambda, arguments: tuple[Operand, ...]) -> Operand:
        """Call a LAMBDA."""

    def evaluated_with(self, index: int, bound: dict[str, Operand]) -> Operand:
        """Argument `index`, with more names bound (LET). Names are in upper case."""

    @property
    def lanes(self) -> tuple[int, int]:
        """How many scenarios and family cells are evaluated together."""

    def position(self) -> tuple[Any, Any]:
        """Row and column (from 1) of the cells being evaluated: two arrays of shape (1, F, 1, 1)."""

    def formula_text(self, reference: Reference) -> Value:
        """FORMULATEXT of the top left cell of `reference`: #N/A where it holds none."""

    def parsed_reference(self, text: str, a1: bool) -> Reference:
        """INDIRECT: the reference that `text` spells; #REF! when none."""

    @property
    def sheet(self) -> int:
        """The index of the formula's own sheet."""

    @property
    def sheet_names(self) -> tuple[str, ...]:
        """The names of all sheets in order."""

    @property
    def date1904(self) -> bool:
        """Whether the workbook counts days from 1904."""
