"""Secrets don't reach a model; whatever is none does."""

from __future__ import annotations

import base64
import json
import os
import random
import string
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import SecretBytes, SecretStr

from jupyter_skills.context.secrets import Redactor, looks_secret, without_secrets
from tests.conftest import NO_HANG

LETTERS = string.ascii_letters + string.digits
KEY = "q7Xw2Lk9ZpR4vN8tB3mY"  # of no service

SECRET_NAMES = """
api_key apikey API_KEY OPENAI_API_KEY openaiApiKey x-api-key X-API-Key token TOKEN auth_token authToken
hf_token GITHUB_TOKEN access_token2 refreshToken password passwd db_password userPassword PASSWORD passphrase
db_pwd secret client_secret SECRET_KEY aws_secret_access_key private_key privateKey ssh_key credentials
AWS_CREDENTIALS Authorization openai_key stripe_key secrets bearer_token csrf_token api_keys
"""
OTHER_NAMES = """
tokens n_tokens max_token max_tokens token_count tokenizer keyboard key keys primary_key foreign_key sort_key
cache_key public_key PWD pwd OLDPWD secretary next_page_token pad_token eos_token_id password_length
has_password secret_name credentials_path token_url KEYBOARD monkey turkey passenger passage passport compass
password_column password_field passwordField token_name secretName key_path SSH_KEY_FILE password_file api_key_path
API_KEY_COLUMN auth_token_url apiKeyUrl credentials_name
x df __name__ _ tokenized keyword hotkey keypoints author authors authority pw
"""


def drawn(length: int, alphabet: str = LETTERS) -> str:
    """What a service would draw: put together here, so that no scanner of repositories takes it for a real one."""
    chosen = random.Random(length)
    return (
        "7aQ" + "".join(chosen.choices(alphabet, k=length - 3))
        if alphabet is LETTERS
        else "".join(chosen.choices(alphabet, k=length))
    )


@pytest.mark.parametrize(
    "name",
    SECRET_NAMES.split(),
)
def test_names_of_secrets_are_known(name: str) -> None:
    assert looks_secret(name)


@pytest.mark.parametrize(
    "name",
    [*OTHER_NAMES.split(), "", "é", "1", "🔑"],
)
def test_names_that_only_resemble_them_are_not(name: str) -> None:
    assert not looks_secret(name)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("OPENAI_API_KEY", KEY),
        ("SERVICE_KEY", "abc123def456"),
        ("DB_PASSWORD", "hunter2"),
        ("DB_PASSWORD", "swordfish"),
        ("DB_PASSWORD", 'p!ss w"rd\\ü'),
        ("SSH_PASSPHRASE", "correct horse battery staple"),
        ("MY_TOKEN", "123e4567-e89b-12d3-a456-426614174000"),
        ("GH_PAT", KEY),
        ("PRIVATE_KEY", f"line one {KEY}\nline two {KEY}"),
    ],
)
def test_what_the_environment_keeps_secret_is_replaced_by_its_name(name: str, value: str) -> None:
    redactor = Redactor.of({name: value, "HOME": "/home/ana"})
    mark = f"[redacted: {name}]"
    assert redactor.redact(f"It is '{value}'.") == f"It is '{mark}'."
    assert redactor.redact(json.dumps({"k": value})) == json.dumps({"k": mark})
    assert redactor.redact(json.dumps({"k": value}, ensure_ascii=False)) == json.dumps({"k": mark})
    assert redactor.redact(json.dumps(f"a\n{value}\nb")) == f'"a\\n{mark}\\nb"'
    assert redactor.redact(f"?q={quote(value, safe='')}&x=1") == f"?q={mark}&x=1"
    assert redactor.redact(repr([value])) == f"['{mark}']" or value not in redactor.redact(repr([value]))
    assert redactor.found == [name]
    assert value not in repr(redactor)
    assert value not in str(redactor)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("SOME_KEY", "true"),
        ("SOME_KEY", "function"),
        ("SOME_KEY", "temperature"),
        ("PARTITION_KEY", "customer_id"),
        ("SORT_KEY", "created at"),
        ("AUTH_TOKEN", "abc1"),
        ("AUTH_TOKEN", "none"),
        ("AUTH_TOKEN", "YOUR_TOKEN_HERE"),
        ("AUTH_TOKEN", "<token>"),
        ("AUTH_TOKEN", "xxxxxxxx"),
        ("PIN_PASSWORD", "123456"),
        ("DB_PASSWORD", "postgres"),
        ("DB_PASSWORD", "short"),
        ("SSL_KEY", os.__file__),
        ("GOOGLE_APPLICATION_CREDENTIALS", os.__file__),
        ("EMPTY_KEY", ""),
        ("X_PASSWORD", "function"),
        ("X_PASSWORD", "DataFrame"),
        ("X_PASSWORD", "password"),
        ("X_PASSWORD", "isinstance"),
        ("X_PASSWORD", "KeyError"),
        ("X_PASSWORD", "requests"),
        ("X_PASSWORD", "user_name"),
        ("X_PASSWORD", "temperatures"),
        ("X_PASSWORD", "os.environ/REAL_PASSWORD"),
        ("X_PASSWORD", "${REAL_PASSWORD}"),
        ("X_CREDENTIALS", "/etc/keys/of-no-such-file.json"),
        ("X_KEY", "DataFrame"),
        ("X_KEY", "RandomForestClassifier"),
        ("GLOB_PAT", "data/*.csv"),
        ("GLOB_PAT", "**/*.parquet"),
        ("CACHE_KEY", "user:*"),
        ("CACHE_KEY", "2024-01-01"),
        ("CACHE_KEY", "2024-01-01T12:30:00Z"),
        ("CACHE_KEY", "01/02/2024"),
        ("CACHE_KEY", "192.168.10.20"),
        ("SSH_KEY", "~/.ssh/id_rsa"),
        ("SSH_KEY", "/home/nobody/.ssh/id_ed25519"),
        ("SSH_KEY", "./certs/server1.pem"),
        ("SSH_KEY", r"C:\Users\nobody\key1.pem"),
        ("SSH_KEY", "server2.key"),
        ("AUTH_TOKEN", "hello1"),
        ("AUTH_TOKEN", "customer_id2"),
        ("PASSWORD_COLUMN", "pw_col"),
        ("PASSWORD_COLUMN", KEY),
        ("SERVICE_KEY_PATH", KEY),
        ("LANG", KEY),
    ],
)
def test_what_can_not_be_told_from_prose_stays(name: str, value: str) -> None:
    text = f"Before {value} after: true function temperature customer_id 123456"
    assert Redactor.of({name: value}).redact(text) == text


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("DB_PASSWORD", "TreasureMap"),
        ("DB_PASSWORD", "function7"),
        ("DB_PASSWORD", "2024-01-01"),
        ("DB_PASSWORD", "/ab12cd!"),
        ("DB_PASSWORD", "pa*ss12"),
        ("STORAGE_KEY", "/" + drawn(42) + "="),
        ("SOME_TOKEN", "/" + drawn(64)),
        ("SOME_TOKEN", "/" + drawn(7) + "/" + drawn(12)),
        ("SOME_TOKEN", "pa*ss12word"),
        ("SOME_TOKEN", "abcdef12"),
        ("SOME_TOKEN", "qhwzkxjvbnmtrplcdfgs"),
        ("SOME_TOKEN", f"{drawn(10)}.{drawn(12)}.{drawn(14)}"),
    ],
)
def test_what_hardly_anyone_writes_otherwise_does_not_stay(name: str, value: str) -> None:
    assert Redactor.of({name: value}).redact(f"It is '{value}'.") == f"It is '[redacted: {name}]'."


def test_more_secrets_are_learned_while_it_is_used() -> None:
    environment: dict[str, str] = {}
    variables: dict[str, object] = {"config": {}}
    redactor = Redactor.of(environment, variables)
    text = f"{KEY} hunter2x swordfish {KEY[::-1]}"
    assert redactor.redact(text) == text
    environment["NEW_API_KEY"] = KEY
    variables["api_token"] = "hunter2x"
    variables["config"] = {"password": "swordfish"}
    for _ in range(2):
        redactor.learn(environment, variables)
        assert redactor.redact(text) == (
            f"[redacted: NEW_API_KEY] [redacted: api_token] [redacted: config.password] {KEY[::-1]}"
        )
    assert repr(redactor) == "<Redactor: 3 secrets>"
    environment["NEW_API_KEY"] = KEY[::-1]
    variables.clear()
    redactor.learn(environment, variables)
    assert redactor.redact(f"{KEY} hunter2x {KEY[::-1]}") == (
        "[redacted: NEW_API_KEY] [redacted: api_token] [redacted: NEW_API_KEY]"
    )
    assert redactor.found == ["NEW_API_KEY", "api_token", "config.password"]


@pytest.mark.parametrize(
    ("settings", "text", "redacted"),
    [
        ({"api_key": "swordfish"}, "swordfish", "[redacted: api_key]"),
        ({"extra_headers": {"Authorization": f"Bearer {KEY}"}}, f"k={KEY}", "k=[redacted: Authorization]"),
        ({"extra_headers": {"authorization": KEY}}, KEY, "[redacted: authorization]"),
        ({"headers": {"Cookie": f"lang=german; sid={KEY}"}}, f"{KEY} german", "[redacted: Cookie] german"),
        ({"headers": {"x-api-key": KEY}}, KEY, "[redacted: x-api-key]"),
        ({"fallbacks": [{"model": "m-1234", "api_key": KEY}]}, f"m-1234 {KEY}", "m-1234 [redacted: api_key]"),
        ({"a": [[({"b": {"api_keys": [KEY]}},)]]}, KEY, "[redacted: api_keys]"),
        ({"api_key": SecretStr(KEY)}, KEY, "[redacted: api_key]"),
        ({"api_key": "os.environ/MY_KEY"}, "os.environ/MY_KEY", "os.environ/MY_KEY"),
        ({"api_key": "not-needed"}, "not-needed", "not-needed"),
        ({"api_base": KEY, "max_tokens": 5, "api_key": None}, KEY, KEY),
    ],
)
def test_nested_settings_give_their_secrets_away(settings: dict[str, object], text: str, redacted: str) -> None:
    redactor = Redactor()
    redactor.learn_settings(settings)
    assert redactor.redact(text) == redacted


def test_settings_within_themselves_end() -> None:
    settings: dict[str, object] = {"api_key": KEY}
    settings["again"] = [settings, settings]
    redactor = Redactor()
    redactor.learn_settings(settings)
    assert redactor.redact(KEY) == "[redacted: api_key]"
    assert without_secrets(settings, redactor.redact) == {"api_key": "[redacted]", "again": ["…", "…"]}


def test_arguments_can_be_shown_without_secrets() -> None:
    arguments = {
        "model": "m",
        "api_key": "any",
        "timeout": 3.5,
        "token": 5,
        "password": None,
        "max_tokens": 10,
        "extra_headers": {"Authorization": "Bearer any", "cookie": "any", "X-API-Key": "any", "Accept": "json"},
        "credentials": {"user": "ana"},
        "messages": [{"role": "user", "content": [f"It is {KEY}.", (f"{KEY}", 1)]}],
        "pairs": [("authorization", "any"), ("accept", "json")],
        KEY: True,
    }
    before = repr(arguments)
    mark = "[redacted: MY_KEY]"
    assert without_secrets(arguments, Redactor({"MY_KEY": KEY}).redact) == {
        "model": "m",
        "api_key": "[redacted]",
        "timeout": 3.5,
        "token": "[redacted]",
        "password": None,
        "max_tokens": 10,
        "extra_headers": {
            "Authorization": "[redacted]",
            "cookie": "[redacted]",
            "X-API-Key": "[redacted]",
            "Accept": "json",
        },
        "credentials": "[redacted]",
        "messages": [{"role": "user", "content": [f"It is {mark}.", (mark, 1)]}],
        "pairs": [("authorization", "[redacted]"), ("accept", "json")],
        mark: True,
    }
    assert repr(arguments) == before


def test_words_that_hold_a_value_are_not_cut() -> None:
    redactor = Redactor({"DB_PASSWORD": "hunter2"})
    text = "hunter22, xhunter2 and Hunter2 stay"
    assert redactor.redact(text) == text
    assert redactor.redact("hunter2, (hunter2) a_hunter2") == (
        "[redacted: DB_PASSWORD], ([redacted: DB_PASSWORD]) a_[redacted: DB_PASSWORD]"
    )


def test_of_values_that_overlap_the_longest_is_named_and_nothing_is_left_of_any() -> None:
    redactor = Redactor({"SHORT_KEY": f"{KEY}", "LONG_KEY": f"{KEY}-{KEY[::-1]}"})
    assert redactor.redact(f"{KEY}-{KEY[::-1]} {KEY}") == "[redacted: LONG_KEY] [redacted: SHORT_KEY]"
    assert redactor.found == ["LONG_KEY", "SHORT_KEY"]
    crossing = Redactor({"A": "abcdef-123456", "B": "123456-uvwxyz99"})
    assert crossing.redact("abcdef-123456-uvwxyz99") == "[redacted: B]"


@pytest.mark.parametrize(
    ("variables", "text", "redacted"),
    [
        ({"api_key": KEY}, f"k={KEY}", "k=[redacted: api_key]"),
        ({"api_key": KEY.encode()}, f"k={KEY}", "k=[redacted: api_key]"),
        ({"anything": SecretStr(KEY)}, KEY, "[redacted: anything]"),
        ({"anything": SecretBytes(KEY.encode())}, KEY, "[redacted: anything]"),
        (
            {"config": {"host": "localhost1", "password": KEY}},
            f"localhost1 {KEY}",
            "localhost1 [redacted: config.password]",
        ),
        ({"config": {"a": SecretStr(KEY)}}, KEY, "[redacted: config.a]"),
        ({"secrets": {"db": KEY}}, KEY, "[redacted: secrets.db]"),
        ({"api_keys": ["short", KEY]}, KEY, "[redacted: api_keys]"),
        ({"text": KEY}, KEY, KEY),
        ({"token": "the"}, "the cat", "the cat"),
        ({"token": 5, "password": None, "secret": object()}, "5 None", "5 None"),
        ({"deep": {"deeper": {"password": KEY}}}, KEY, KEY),
    ],
)
def test_variables_called_like_secrets_are_looked_at(variables: dict[str, object], text: str, redacted: str) -> None:
    assert Redactor.of({}, variables).redact(text) == redacted


def test_the_environment_as_a_variable_is_looked_at_like_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_SERVICE_KEY", "abc123def456")
    assert Redactor.of({}, {"env": os.environ}).redact("abc123def456") == "[redacted: SOME_SERVICE_KEY]"


def test_variables_that_raise_when_they_are_looked_at_do_no_harm() -> None:
    class Hostile:
        @property
        def __class__(self) -> type:
            raise RuntimeError

        def get_secret_value(self) -> str:
            raise RuntimeError

    assert Redactor.of({}, {"password": Hostile(), "api_key": KEY}).redact(KEY) == "[redacted: api_key]"


def test_passwords_within_addresses_of_the_environment_are_found_elsewhere_too() -> None:
    redactor = Redactor.of({"DATABASE_URL": f"postgres://ana:{KEY}@db.example.org/x"})
    assert redactor.redact(f"PGPASSWORD={KEY}") == "PGPASSWORD=[redacted: DATABASE_URL]"


SHAPES = {
    "an OpenAI API key": [
        "sk-" + drawn(48),
        "sk-proj-" + drawn(80),
        "sk-or-v1-" + drawn(64),
        "sk-svcacct-" + drawn(60),
    ],
    "an Anthropic API key": ["sk-ant-api03-" + drawn(90)],
    "a GitHub token": [*(f"gh{kind}_" + drawn(36) for kind in "pousr"), "github_pat_" + drawn(60)],
    "a GitLab token": ["glpat-" + drawn(20)],
    "an AWS access key": ["AKIA" + drawn(16, string.ascii_uppercase + "2345"), "ASIA" + drawn(16, "ABCDEFG2345")],
    "a Google API key": ["AIza" + drawn(35)],
    "a Slack token": ["xoxb-" + "12345-" + drawn(24), "xoxp-" + drawn(40)],
    "a Stripe key": ["sk_live_" + drawn(24), "rk_live_" + drawn(24)],
    "a Hugging Face token": ["hf_" + drawn(34)],
    "an npm token": ["npm_" + drawn(36)],
    "a PyPI token": ["pypi-" + drawn(120)],
    "a JSON web token": [f"eyJ{drawn(20)}.eyJ{drawn(40)}.{drawn(43)}"],
    "a private key": [
        f"-----BEGIN {kind}PRIVATE KEY-----\n{drawn(64)}\n{drawn(64)}\n-----END {kind}PRIVATE KEY-----"
        for kind in ("", "RSA ", "OPENSSH ", "EC ")
    ],
}


@pytest.mark.parametrize(
    ("label", "secret"), [(label, each) for label, all_of_it in SHAPES.items() for each in all_of_it]
)
def test_keys_of_well_known_services_show_by_their_shape(label: str, secret: str) -> None:
    redactor = Redactor()
    mark = f"[redacted: {label}]"
    assert redactor.redact(secret) == mark
    assert redactor.redact(f"key='{secret}', next") == f"key='{mark}', next"
    assert redactor.redact(f"é{secret}。".replace("é", "(")) == f"({mark}。"
    assert secret not in redactor.redact(json.dumps(f"a\n{secret}\n"))
    assert redactor.found == [label]


@pytest.mark.parametrize(
    ("text", "redacted"),
    [
        (f"Authorization: Bearer {KEY}", "Authorization: Bearer [redacted: a bearer token]"),
        (f'"authorization":"bearer {KEY}"', '"authorization":"bearer [redacted: a bearer token]"'),
        (f"https://ana:{KEY}@example.org/x?y", "https://ana:[redacted: a password in a URL]@example.org/x?y"),
        ("redis://:s3cr3t!@cache:6379/0", "redis://:[redacted: a password in a URL]@cache:6379/0"),
        ("amqp://ana:p@ss%40w0rd@mq/", "amqp://ana:[redacted: a password in a URL]@mq/"),
        (
            f'aws_secret_access_key = "{drawn(40)}"',
            'aws_secret_access_key = "[redacted: an AWS secret key]"',
        ),
        (f"SecretAccessKey: {drawn(40)}\n", "SecretAccessKey: [redacted: an AWS secret key]\n"),
    ],
)
def test_others_show_by_what_they_stand_in(text: str, redacted: str) -> None:
    assert Redactor().redact(text) == redacted


def test_a_private_key_whose_end_was_cut_off_is_one_still() -> None:
    lines = "\n".join(drawn(64) for _ in range(5))
    assert Redactor().redact(f"-----BEGIN RSA PRIVATE KEY-----\n{lines}\n\nAnd prose.") == (
        "[redacted: a private key]\n\nAnd prose."
    )


@pytest.mark.parametrize(
    "text",
    [
        "sk-...",
        "sk-" + "x" * 48,
        "sk-your-key-goes-right-here-12345",
        "sk-internationalization-of-everything-at-once",
        "ghp_" + "X" * 36,
        "AKIAIOSFODNN7EXAMPLE",
        "task-1234567890abcdef1234567890",
        "disk-" + drawn(30),
        "Bearer <your token>",
        "Bearer $TOKEN",
        "the bearer of responsibilities, and bearer authentication-schemes-in-general",
        "https://user:password@example.com",
        "https://${USER}:${PASSWORD}@example.com",
        "f'postgres://{user}:{password}@{host}'",
        "http://localhost:8888/tree and a@b",
        "git@github.com:ana/repo.git",
        "da39a3ee5e6b4b0d3255bfef95601890afd80709",
        "123e4567-e89b-12d3-a456-426614174000",
        base64.b64encode(bytes(range(256))).decode(),
        "-----BEGIN PUBLIC KEY-----\n" + drawn(64) + "\n-----END PUBLIC KEY-----",
        "-----BEGIN PRIVATE KEY-----\n...\n-----END PRIVATE KEY-----",
        "eyJ is how they begin: eyJ.eyJ.x",
        "[redacted: anything]",
    ],
)
def test_placeholders_digests_and_words_are_no_keys(text: str) -> None:
    assert Redactor().redact(text) == text


def test_what_stands_for_a_secret_holds_none_and_hides_none() -> None:
    redactor = Redactor({"the swordfish password": "swordfish", "B": KEY})
    assert redactor.redact("swordfish") == "[redacted: a secret]"
    assert redactor.redact(f"[redacted: {KEY}] [redacted: B]") == "[redacted: [redacted: B]] [redacted: B]"


PIECES = st.sampled_from(
    [KEY, "hunter2", "p!ss12", "SK", "sk-", "sk-" + drawn(48), "[redacted: ", "]", "A", "B", "C", " ", "\\n", "%3D", "://a:",
     "@", "bearer ", "eyJ", ".", "-----BEGIN PRIVATE KEY-----", "\ud800", "é", "\0", "[redacted: A]", drawn(60)]
)  # fmt: skip


@given(st.lists(PIECES | st.text(max_size=5), max_size=12).map("".join))
def test_redacting_twice_is_redacting_once(text: str) -> None:
    redactor = Redactor({"A": KEY, "B": "hunter2", "C": "p!ss12", "hunter2": "redact3d: x"})
    once = redactor.redact(text)
    assert redactor.redact(once) == once
    assert KEY not in once
    assert "p!ss12" not in once


@given(st.dictionaries(st.text(max_size=20), st.text(max_size=20), max_size=5), st.text(max_size=100))
def test_no_name_value_or_text_makes_it_raise(secrets: dict[str, str], text: str) -> None:
    for redactor in (Redactor(secrets), Redactor.of(secrets, dict(secrets))):
        once = redactor.redact(text + "".join(secrets.values()))
        assert redactor.redact(once) == once


@NO_HANG
@pytest.mark.parametrize(
    "piece",
    ["a", "sk-", "sk-ant-", "eyJ", "eyJ-", "eyJa.", "://", "://a:", "a:b@", "bearer ", "-----BEGIN PRIVATE KEY-----",
     "-----BEGIN ", "-", "secret_access_key=", "\\n", "%3D", "AKIA", "[redacted: ", "Aa1", "ghp_" + "a1B" * 13 + " ",
     f"{KEY} ", f"x{KEY[:9]}", "hooks.slack.com/services/T", "é", "\n"],
)  # fmt: skip
def test_a_megabyte_of_anything_is_read_in_one_go(piece: str) -> None:
    environment = {f"NAME{i}_KEY": f"{KEY}{i}" for i in range(100)} | {"A_KEY": KEY, "B_KEY": KEY[:9]}
    Redactor.of(environment).redact(piece * (1_000_000 // len(piece)))
