"""Which parts of a text are secrets, and which look like them."""

import time

import pytest

from harness.base.errors import UsageError, describe_bug
from harness.base.secrets import redacted, redacted_command


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("postgresql+pg8000://lab:s3cret@host/db", "postgresql+pg8000://lab:***@host/db"),
        ("rfc2217://lab:s3cret@bench2:4001", "rfc2217://lab:***@bench2:4001"),
        ("postgresql://lab:s3%2Fcr%40et@host", "postgresql://lab:***@host"),
        ("postgresql://lab:s3@cret@host", "postgresql://lab:***@host"),
        ("postgresql://lab:s3/cr'et@host/db", "postgresql://lab:***@host/db"),
        ("postgresql:/lab:s3cret@host", "postgresql:/lab:***@host"),
        ("postgresql://:s3cret@host", "postgresql://:***@host"),
        ("clone https://ghp_s3cret@github.com/a", "clone https://***@github.com/a"),
        ("tcp://a:x@h, tcp://b:y@h", "tcp://a:***@h, tcp://b:***@h"),
        (
            "https://h/x?user=lab&access_token=s3cret&y=1",
            "https://h/x?user=lab&access_token=***&y=1",
        ),
        ("postgresql://h/db?password=s3%20cret", "postgresql://h/db?password=***"),
        ("PGPASSWORD=s3cret psql", "PGPASSWORD=*** psql"),
        ("tool --api-key s3cret --verbose", "tool --api-key *** --verbose"),
        ("tool --lab-token='s3 cret' x", "tool --lab-token=*** x"),
        ("connect(user='lab', password='s3cret')", "connect(user='lab', password=***)"),
        ("""{'passwd': 's3cret', "apikey": "s3cret"}""", """{'passwd': '***', "apikey": "***"}"""),
    ],
)
def test_hidden(text, shown):
    assert redacted(text) == shown
    assert redacted(shown) == shown


@pytest.mark.parametrize(
    "text",
    [
        "http://host:8080/a@b",
        "http://host/x?mail=a@b",
        "postgresql://lab@host/db",
        "tests/test_secrets.py:48: AssertionError",
        "test_secrets.py::test_a[token]",
        "the token is unknown",
        "tool --token-stdin --verbose",
        "token == password",
        "mcuboot.hex@0x1000",
        "RENODE=/opt/a:/usr/b@1:/c PATH=C:/a:b",
    ],
)
def test_shown(text):
    assert redacted(text) == text


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        (["run", "a b.elf", "--history", "pg://lab:s3'cr/et@h"],
         "run 'a b.elf' --history 'pg://lab:***@h'"),
        (["robot", "-v", "LAB_TOKEN:s3 cret", "tests"], "robot -v LAB_TOKEN:*** tests"),
        (["x", "--password", "s3 cret", "--token-stdin", "--y"],
         "x --password *** --token-stdin --y"),
        (["pytest", "test_token.py::test_a"], "pytest test_token.py::test_a"),
    ],
)  # fmt: skip
def test_command(words, shown):
    assert redacted_command(words) == shown


@pytest.mark.parametrize("text", ["a s3cret+b", "x%2Fs3cret%2Bb.", "PASSWORD: s3cret+b"])
def test_value_of_the_environment_is_hidden_wherever_it_stands(monkeypatch, text):
    monkeypatch.setenv("LAB_TOKEN", "s3cret+b")
    assert "s3cret" not in redacted(text)


def test_password_of_a_url_in_the_environment_is_hidden_wherever_it_stands(monkeypatch):
    monkeypatch.setenv("LG_PROXY", "ssh://lab:s3cret%2Bb@bench")
    assert redacted("login with s3cret+b, s3cret%2Bb") == "login with ***, ***"


def test_option_of_this_process_is_hidden_wherever_it_stands(monkeypatch):
    monkeypatch.setattr("sys.argv", ["robot", "--variable", "LAB_TOKEN:s3cret-b", "--json", "x"])
    assert redacted("login with s3cret-b, x") == "login with ***, x"


@pytest.mark.parametrize("value", ["false", "1", "/tmp"])
def test_short_values_and_paths_are_shown(monkeypatch, value):
    monkeypatch.setenv("TOKENIZERS_PARALLELISM", value)
    assert redacted(f"it is {value}") == f"it is {value}"


def test_errors_hold_no_secrets():
    error = UsageError("cannot open a://b:s3cret@c", hint="--token s3cret")
    assert str(error) == "cannot open a://b:***@c\nhint: --token ***"
    assert "s3cret" not in f"{error.args}{error.message}{error.hint}"
    assert "s3cret" not in describe_bug(ValueError("a://b:s3cret@c"))


@pytest.mark.parametrize(
    "text", ["://a:b", "a.token-", "--token ", "'token", "://", "a", '"token":"']
)
def test_linear_time(text):
    started = time.process_time()
    redacted(text * (1_000_000 // len(text)))
    assert time.process_time() - started < 5.0
