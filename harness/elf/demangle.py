"""C++ symbol names as people write them: a demangler for the Itanium C++ ABI.

Pure Python, so that reports read the same on every machine. It covers what compilers emit for
firmware; a name that it cannot read is returned as it stands.

Source: Itanium C++ ABI, section 5.1 "External Names (a.k.a. Mangling)".
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

_BUILTIN = {
    "v": "void", "w": "wchar_t", "b": "bool", "c": "char", "a": "signed char",
    "h": "unsigned char", "s": "short", "t": "unsigned short", "i": "int", "j": "unsigned int",
    "l": "long", "m": "unsigned long", "x": "long long", "y": "unsigned long long",
    "n": "__int128", "o": "unsigned __int128", "f": "float", "d": "double", "e": "long double",
    "g": "__float128", "z": "...",
    "Dd": "decimal64", "De": "decimal128", "Df": "decimal32", "Dh": "_Float16", "Di": "char32_t",
    "Ds": "char16_t", "Du": "char8_t", "Da": "auto", "Dc": "decltype(auto)",
    "Dn": "decltype(nullptr)",
}  # fmt: skip
_STANDARD = {"t": "std", "a": "std::allocator", "b": "std::basic_string", "s": "std::string",
             "i": "std::istream", "o": "std::ostream", "d": "std::iostream"}  # fmt: skip
_OPERATORS = {
    "nw": "new", "na": "new[]", "dl": "delete", "da": "delete[]", "aw": "co_await", "ps": "+",
    "ng": "-", "ad": "&", "de": "*", "co": "~", "pl": "+", "mi": "-", "ml": "*", "dv": "/",
    "rm": "%", "an": "&", "or": "|", "eo": "^", "aS": "=", "pL": "+=", "mI": "-=", "mL": "*=",
    "dV": "/=", "rM": "%=", "aN": "&=", "oR": "|=", "eO": "^=", "ls": "<<", "rs": ">>",
    "lS": "<<=", "rS": ">>=", "eq": "==", "ne": "!=", "lt": "<", "gt": ">", "le": "<=",
    "ge": ">=", "ss": "<=>", "nt": "!", "aa": "&&", "oo": "||", "pp": "++", "mm": "--", "cm": ",",
    "pm": "->*", "pt": "->", "cl": "()", "ix": "[]", "qu": "?",
}  # fmt: skip
_BINARY = frozenset(
    [
        "pl",
        "mi",
        "ml",
        "dv",
        "rm",
        "an",
        "or",
        "eo",
        "ls",
        "rs",
        "eq",
        "ne",
        "lt",
        "gt",
        "le",
        "ge",
        "aa",
        "oo",
    ]
)
_SPECIAL = {"TV": "vtable for ", "TT": "VTT for ", "TI": "typeinfo for ",
            "TS": "typeinfo name for "}  # fmt: skip
_SUFFIX = {"j": "u", "l": "l", "m": "ul", "x": "ll", "y": "ull"}
_DEEPEST = 200
_LONGEST = 20_000


class _Unreadable(Exception):
    """The name is not mangled, or uses a production that is not covered."""


@dataclass(frozen=True)
class _Type:
    """A type's text around the place where a declarator stands: ``int (`` name ``)[3]``."""

    left: str
    right: str = ""
    wraps: bool = False  # a function or an array: a pointer to it needs brackets

    def __str__(self) -> str:
        return self.left + self.right


@lru_cache(maxsize=65536)
def demangle(name: str) -> str:
    """The readable form of a mangled name, with clone suffixes; ``name`` itself if it is none."""
    if not name.startswith("_Z"):
        return name
    base, dot, suffix = name.partition(".")
    parser = _Parser(base[2:])
    try:
        text = parser.encoding(top=True)
    except (_Unreadable, IndexError, RecursionError):
        return name
    if parser.at != len(parser.text) or not text:
        return name
    return text + (f" [clone .{suffix}]" if dot else "")


@lru_cache(maxsize=65536)
def qualified(name: str) -> str:
    """The demangled name alone: no parameters, return type, clone suffix (``tflite::A<1u>::B``)."""
    if not name.startswith("_Z"):
        return name.partition(".")[0]
    parser = _Parser(name.partition(".")[0][2:])
    try:
        return parser.special() or parser.name()[0]
    except (_Unreadable, IndexError, RecursionError):
        return name


class _Parser:
    """Recursive descent over one mangled name."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.known: list[
            _Type | int
        ] = []  # substitution candidates; a number is a <template-param>
        self.arguments: list[str] = []  # the encoding's own template arguments
        self.inside_type = 0
        self.depth = 0

    # -- reading ---------------------------------------------------------------------------------

    def peek(self, count: int = 1) -> str:
        return self.text[self.at : self.at + count]

    def take(self, wanted: str) -> bool:
        if self.text.startswith(wanted, self.at):
            self.at += len(wanted)
            return True
        return False

    def expect(self, wanted: str) -> None:
        if not self.take(wanted):
            raise _Unreadable

    def number(self) -> int:
        start = self.at
        while self.peek().isdigit():
            self.at += 1
        if start == self.at:
            raise _Unreadable
        return int(self.text[start : self.at])

    def sequence(self) -> int:
        """A <seq-id> up to its ``_``: empty is 0, base 36 from 1."""
        end = self.text.find("_", self.at)
        digits = self.text[self.at : end]
        if end < 0 or not all(c.isdigit() or "A" <= c <= "Z" for c in digits):
            raise _Unreadable
        self.at = end + 1
        return int(digits, 36) + 1 if digits else 0

    # -- encodings and names ---------------------------------------------------------------------

    def encoding(self, *, top: bool = False, result_shown: bool = True) -> str:
        """An <encoding>; template parameters inside it are its own."""
        self.depth += 1
        if self.depth > _DEEPEST:
            raise _Unreadable
        outside = self.inside_type
        self.inside_type = 0
        text = self.special()
        if not text:
            text, templated, qualifiers = self.name()
            if self.at < len(self.text) and self.peek() not in ("E", "_"):
                result = self.type() if templated else None
                text = f"{text}({self.parameters(top=top)}){qualifiers}"
                if result is not None and result_shown:
                    text = f"{result.left}{_space(result.left)}{text}{result.right}"
        self.inside_type = outside
        self.depth -= 1
        return text

    def special(self) -> str:
        code = self.peek(2)
        if code in _SPECIAL:
            self.at += 2
            return _SPECIAL[code] + str(self.type())
        if code == "GV":
            self.at += 2
            return "guard variable for " + self.name()[0]
        if code in ("Th", "Tv"):
            self.at += 2
            self.take("n")
            self.number()
            self.expect("_")
            if code == "Tv":
                self.take("n")
                self.number()
                self.expect("_")
            kind = "non-virtual thunk to " if code == "Th" else "virtual thunk to "
            return kind + self.encoding()
        return ""

    def parameters(self, *, top: bool = False) -> str:
        """A <bare-function-type> without the return type, up to ``E``, ``.`` or the end."""
        found = []
        while self.at < len(self.text) and self.peek() != "E":
            if not top and self.peek() in ("_", "Q"):
                break
            found.append(str(self.type()))
        return "" if found == ["void"] else ", ".join(found)

    def name(self) -> tuple[str, bool, str]:
        """A <name>: its text, whether it ends in template arguments, and its cv-qualifiers."""
        if self.peek() == "N":
            return self.nested()
        if self.peek() == "Z":
            return self.local()
        if self.peek() == "S" and self.peek(2) != "St":
            base = str(self.substitution())
            if self.peek() != "I":
                raise _Unreadable
            return base + self.template(), True, ""
        prefix = ""
        if self.take("St"):
            prefix = "std::"
        self.take("L")
        base = prefix + self.unqualified("")
        if self.peek() == "I":
            self.known.append(_Type(base))
            return base + self.template(), True, ""
        return base, False, ""

    def nested(self) -> tuple[str, bool, str]:
        self.expect("N")
        qualifiers = ""
        for code, text in (("r", " restrict"), ("V", " volatile"), ("K", " const"), ("R", " &"),
                           ("O", " &&")):  # fmt: skip
            if self.take(code):
                qualifiers += text
        scope, last, templated, special = "", "", False, False
        while not self.take("E"):
            if self.take("St"):
                scope = last = "std"
                continue
            if self.peek() == "S":
                scope = str(self.substitution())
                last, templated = scope.rpartition("::")[2], False
                continue
            if self.peek() == "I" and scope:
                scope += self.template()
                templated = not special
            else:
                special = self.peek() in ("C", "D") or self.peek(2) == "cv"
                last, templated = self.prefix(last), False
                scope = f"{scope}::{last}" if scope else last
            if self.peek() != "E":
                self.known.append(_Type(scope))
        return scope, templated, qualifiers

    def prefix(self, scope: str) -> str:
        """One component of a nested name."""
        if self.peek() == "T":
            return str(self.template_parameter())
        self.take("L")
        return self.unqualified(scope)

    def local(self) -> tuple[str, bool, str]:
        self.expect("Z")
        outer = self.arguments
        function = self.encoding(result_shown=False)
        self.expect("E")
        if self.take("s"):
            self.discriminator()
            return f"{function}::string literal", False, ""
        if self.take("d"):
            if self.peek() != "_":
                self.number()
            self.expect("_")
        if self.inside_type:
            self.arguments = outer
        name, templated, qualifiers = self.name()
        self.discriminator()
        return f"{function}::{name}", templated, qualifiers

    def discriminator(self) -> None:
        if self.take("__"):
            self.number()
            self.expect("_")
        elif self.peek() == "_" and self.peek(2)[1:].isdigit():
            self.at += 2

    def unqualified(self, scope: str) -> str:
        """An <unqualified-name>; ``scope`` names the class for constructors and destructors."""
        head = self.peek()
        if head.isdigit():
            text = self.source_name()
        elif head == "C" and self.peek(2) in ("C1", "C2", "C3", "C4", "C5"):
            self.at += 2
            text = scope.partition("<")[0]
        elif head == "D" and self.peek(2) in ("D0", "D1", "D2", "D4", "D5"):
            self.at += 2
            text = "~" + scope.partition("<")[0]
        elif self.take("Ul"):
            parameters = self.parameters()
            self.expect("E")
            text = f"{{lambda({parameters})#{self.ordinal()}}}"
        elif self.take("Ut"):
            text = f"{{unnamed type#{self.ordinal()}}}"
        else:
            text = self.operator()
        while self.take("B"):
            text += f"[abi:{self.source_name()}]"
        return text

    def ordinal(self) -> int:
        """The optional number and ``_`` of an unnamed type or lambda, counted from 1."""
        value = self.number() + 2 if self.peek().isdigit() else 1
        self.expect("_")
        return value

    def source_name(self) -> str:
        length = self.number()
        text = self.text[self.at : self.at + length]
        if not length or len(text) != length:
            raise _Unreadable
        self.at += length
        return "(anonymous namespace)" if text.startswith("_GLOBAL__N") else text

    def operator(self) -> str:
        code = self.peek(2)
        if code == "cv":
            self.at += 2
            return f"operator {self.type()}"
        if code == "li":
            self.at += 2
            return f'operator"" {self.source_name()}'
        if code not in _OPERATORS:
            raise _Unreadable
        self.at += 2
        text = _OPERATORS[code]
        return f"operator {text}" if text[0].isalpha() else f"operator{text}"

    # -- templates and substitutions ---------------------------------------------------------------

    def template(self) -> str:
        self.expect("I")
        self.inside_type += 1
        found: list[str] = []
        while not self.take("E"):
            found.extend(self.template_argument())
        self.inside_type -= 1
        if not self.inside_type:
            self.arguments = found
        text = ", ".join(argument for argument in found if argument)
        return f"<{text} >" if text.endswith(">") else f"<{text}>"

    def template_argument(self) -> list[str]:
        if self.peek() == "L":
            return [self.literal()]
        if self.take("J"):
            found: list[str] = []
            while not self.take("E"):
                found.extend(self.template_argument())
            return [", ".join(found)]
        if self.take("X"):
            text = self.expression()
            self.expect("E")
            return [text]
        return [str(self.type())]

    def expression(self) -> str:
        """The few forms of <expression> that firmware's templates hold."""
        if self.peek() == "L":
            return self.literal()
        if self.peek() == "T":
            return str(self.template_parameter())
        if self.take("ad"):
            return f"&({self.expression()})"
        if self.take("nt"):
            return f"!{self.expression()}"
        if self.take("sr"):
            scope = str(self.type())
            return f"{scope}::{self.unqualified('')}"
        code = self.peek(2)
        if code in _BINARY:
            self.at += 2
            left, right = self.expression(), self.expression()
            return f"({left}){_OPERATORS[code]}({right})"
        raise _Unreadable

    def literal(self) -> str:
        self.expect("L")
        if self.take("_Z"):
            text = self.encoding()
            self.expect("E")
            return text
        code = self.peek()
        kind = str(self.type())
        sign = "-" if self.take("n") else ""
        end = self.text.find("E", self.at)
        digits = self.text[self.at : end]
        if end < 0:
            raise _Unreadable
        self.at = end + 1
        if code == "b":
            return "true" if digits == "1" else "false"
        if code == "i":
            return sign + digits
        if code in _SUFFIX:
            return sign + digits + _SUFFIX[code]
        return f"({kind}){sign}{digits}"

    def template_parameter(self) -> _Type:
        self.expect("T")
        return self.parameter(self.sequence())

    def parameter(self, index: int) -> _Type:
        """What template parameter ``index`` stands for in the encoding being read."""
        if index < len(self.arguments):
            return _Type(self.arguments[index])
        return _Type("auto" if self.inside_type == 0 else f"{{T{index}}}")

    def substitution(self) -> _Type:
        self.expect("S")
        code = self.peek()
        if code in _STANDARD:
            self.at += 1
            return _Type(_STANDARD[code])
        index = self.sequence()
        if index >= len(self.known):
            raise _Unreadable
        found = self.known[index]
        return self.parameter(found) if isinstance(found, int) else found

    # -- types -----------------------------------------------------------------------------------

    def type(self) -> _Type:
        self.depth += 1
        if self.depth > _DEEPEST:
            raise _Unreadable
        self.inside_type += 1
        found, remember = self._type()
        self.inside_type -= 1
        self.depth -= 1
        if len(found.left) + len(found.right) > _LONGEST:
            raise _Unreadable  # substitutions can double a text with every letter
        if remember:
            self.known.append(found)
        return found

    def _type(self) -> tuple[_Type, bool]:
        head = self.peek()
        for code in (head, self.peek(2)):
            if code in _BUILTIN:
                self.at += len(code)
                return _Type(_BUILTIN[code]), False
        if head in ("P", "R", "O"):
            self.at += 1
            return _pointer(self.type(), {"P": "*", "R": "&", "O": "&&"}[head]), True
        compound = {"r": self.cv_qualified, "V": self.cv_qualified, "K": self.cv_qualified,
                    "F": self.function, "A": self.array, "M": self.member_pointer}  # fmt: skip
        if head in compound:
            return compound[head](), True
        if head == "T":
            self.at += 1
            index = self.sequence()
            self.known.append(index)
            return self.parameter(index), False
        if head == "S" and self.peek(2) != "St":
            found = self.substitution()
            if self.peek() == "I":
                return _Type(f"{found}{self.template()}"), True
            return found, False
        if self.take("Dp"):
            return self.type(), True
        if self.take("u"):
            return _Type(self.source_name()), True
        if head in ("N", "Z") or head.isdigit() or self.peek(2) == "St":
            return _Type(self.name()[0]), True
        raise _Unreadable

    def cv_qualified(self) -> _Type:
        text = ""
        for code, word in (("r", " restrict"), ("V", " volatile"), ("K", " const")):
            if self.take(code):
                text = word + text if code != "K" else text + word
        found = self.type()
        if found.wraps:
            return _Type(found.left, found.right + text, wraps=True)
        return _Type(found.left + text, found.right)

    def function(self) -> _Type:
        self.expect("F")
        self.take("Y")
        result = self.type()
        parameters = self.parameters()
        self.expect("E")
        return _Type(f"{result.left} ", f"({parameters}){result.right}", wraps=True)

    def array(self) -> _Type:
        self.expect("A")
        size = ""
        if self.peek().isdigit():
            size = str(self.number())
        elif self.peek() != "_":
            size = self.expression()
        self.expect("_")
        element = self.type()
        if element.wraps and element.right.startswith(" ["):
            return _Type(element.left, f" [{size}]{element.right[1:]}", wraps=True)
        return _Type(element.left, f" [{size}]{element.right}", wraps=True)

    def member_pointer(self) -> _Type:
        self.expect("M")
        scope = self.type()
        member = self.type()
        if member.wraps:
            return _Type(f"{member.left}({scope}::*", f"){member.right}")
        return _Type(f"{member.left} {scope}::*", member.right)


def _pointer(found: _Type, mark: str) -> _Type:
    if found.wraps:
        space = " " if not found.left.endswith(" ") else ""
        return _Type(f"{found.left}{space}({mark}", f"){found.right}")
    if mark != "*" and found.left.endswith("&"):
        # References collapse ([dcl.ref]): && remains where both are &&, else it is &.
        return found if mark == "&&" else _Type(found.left.rstrip("&") + mark, found.right)
    return _Type(found.left + mark, found.right)


def _space(left: str) -> str:
    return "" if left.endswith((" ", "(*", "(&")) else " "
