r"""``$`expression``` stands for a value; whatever else is in a prompt reaches the model byte for byte."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jupyter_skills.context.interpolation import interpolated
from jupyter_skills.context.parts import Part, Picture
from jupyter_skills.context.secrets import Redactor
from jupyter_skills.errors import AskInterrupted, UsageProblem
from jupyter_skills.execution.result import Image
from tests.conftest import NO_HANG
from tests.context.corpus import PROMPTS

PICTURE = Picture(Image(b"", "image/png", 1, 1), "figure fig")
NAMES = {"x": 3, "name": "Ana\n", "lines": ["a", "b"], "fig": PICTURE, "d": {"k": "v"}}


def described(name: str, value: object) -> list[Part]:
    """As simple as can be: lists in lines, pictures as such."""
    if isinstance(value, Picture):
        return [value]
    return ["\n".join(value) if isinstance(value, list) else str(value)]


def put(text: str) -> tuple[list[Part], list[str]]:
    return interpolated(text, lambda expression: eval(expression, {}, dict(NAMES)), described)


def nothing_is_evaluated(expression: str) -> object:
    raise AssertionError(f"evaluated: {expression}")


def test_the_corpus_has_two_hundred_different_prompts() -> None:
    assert len(set(PROMPTS)) == len(PROMPTS) >= 200


@pytest.mark.parametrize("prompt", PROMPTS, ids=range(len(PROMPTS)))
def test_what_people_write_is_left_as_it_is(prompt: str) -> None:
    assert interpolated(prompt, nothing_is_evaluated, described)[0] == [prompt]
    redactor = Redactor()
    assert redactor.redact(prompt) == prompt
    assert redactor.found == []


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("", []),
        ("$`x`", ["3"]),
        ("x is $`x`.", ["x is 3."]),
        ("$` x + 1 `", ["4"]),
        ("$`x`$`x`", ["33"]),
        ("$$`x`", ["$3"]),
        ("${$`x`}", ["${3}"]),
        ("costs $5 or $`x`", ["costs $5 or 3"]),
        ("`code` and $`x` and `more`", ["`code` and 3 and `more`"]),
        ("```\n$`x`\n```", ["```\n3\n```"]),
        ("$`'{' + str(x) + '}'`", ["{3}"]),
        ("$`d['k']`", ["v"]),
        ("$`[i for i in range(x)][0]`", ["0"]),
        ("a\r\n$`x`\r\nb", ["a\r\n3\r\nb"]),
        ("see $`fig` here", ["see ", PICTURE, " here"]),
        ("$`fig`$`fig`", [PICTURE, PICTURE]),
        (r"$`'\x24\x60'`", ["$`"]),
    ],
)
def test_a_value_stands_where_its_expression_stood(text: str, parts: list[Part]) -> None:
    assert put(text) == (parts, [])


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("It is $`name`!", ["It is Ana\n!"]),
        ("$`lines`", ["a\nb"]),
        ("of $`lines` take one", ["of \na\nb\n take one"]),
        ("of\n$`lines`\ntake one", ["of\na\nb\ntake one"]),
        ("of\r\n$`lines`\r\ntake one", ["of\r\na\nb\r\ntake one"]),
        ("$`lines`$`lines`", ["a\nb\na\nb"]),
        ("$`fig`$`lines`", [PICTURE, "a\nb"]),
    ],
)
def test_what_has_many_lines_gets_lines_of_its_own_but_texts_stay_exactly_as_they_are(
    text: str, parts: list[Part]
) -> None:
    assert put(text)[0] == parts


@pytest.mark.parametrize(
    ("text", "left"),
    [
        (r"\$`x`", "$`x`"),
        (r"write \$`x` for $`x`", "write $`x` for 3"),
        (r"\$`no python`", r"\$`no python`"),
        (r"\$`x^2`$", r"\$`x^2`$"),
        (r"\n\t\\ \$ \`", r"\n\t\\ \$ \`"),
    ],
)
def test_a_backslash_keeps_an_expression_from_being_evaluated_and_goes_away_only_then(text: str, left: str) -> None:
    assert put(text) == ([left], [])


def test_who_wrote_a_path_is_told_what_its_backslash_did() -> None:
    parts, notices = put(r"C:\data\$`x`")
    assert parts == [r"C:\data$`x`"]
    assert notices == ["$`x` stands in the prompt as it is: a backslash is before it."]
    assert put("C:\\data\\$`x`".replace("\\$`x`", '$`"\\\\" + str(x)`'))[0] == ["C:\\data\\3"]


@pytest.mark.parametrize("text", ["$`a^2`$", "$`x`$ and $`x + 1`$", "$`\\frac{1}{2}`$."])
def test_formulas_of_github_and_gitlab_stay(text: str) -> None:
    assert interpolated(text, nothing_is_evaluated, described) == ([text], [])


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("`cost: $` + x + `…`", "$` + x + `"),
        ("`a$` (x) `b`", "$` (x) `"),
        ("$`git status`", "$`git status`"),
        ("$`await x`", "$`await x`"),
        ("$`[y async for y in x]`", "$`[y async for y in x]`"),
        ("$`x = 1`", "$`x = 1`"),
        ("$`" + "not python " * 9 + "`", "$`not python not python not python not …"),
        ("$`x\0`", "$`x\0`"),
    ],
)
def test_what_is_no_expression_of_python_stays_and_the_user_is_told(text: str, named: str) -> None:
    parts, [notice] = interpolated(text, nothing_is_evaluated, described)
    assert parts == [text]
    assert notice.startswith(f"{named} stands in the prompt as it is: ")
    assert notice.endswith(".")


def test_the_same_is_told_once() -> None:
    assert len(put("$`no python` and $`no python`")[1]) == 1


def test_expressions_are_evaluated_once_each_and_in_order() -> None:
    seen: list[str] = []
    interpolated("$`a` $`b` $`a` \\$`c`", seen.append, lambda name, _: [name])
    assert seen == ["a", "b", "a"]


def test_an_expression_may_follow_what_looked_like_one() -> None:
    assert put("$`no python` $`x`")[0] == ["$`no python` 3"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("$`x.nope`", "$`x.nope` can't be evaluated: AttributeError: 'int' object has no attribute 'nope'"),
        ("a $`missing`", "$`missing` can't be evaluated: NameError: name 'missing' is not defined"),
        ("$`d['z']`", "$`d['z']` can't be evaluated: KeyError: 'z'"),
        ("$`1 / 0` $`x`", "$`1 / 0` can't be evaluated: ZeroDivisionError: division by zero"),
    ],
)
def test_an_expression_that_fails_is_an_error_that_says_how_to_go_on(text: str, message: str) -> None:
    with pytest.raises(UsageProblem) as raised:
        put(text)
    assert raised.value.message == message
    assert "\\$`" in raised.value.next_step


@pytest.mark.parametrize("error", [KeyboardInterrupt(), AskInterrupted("Stopped"), SystemExit()])
def test_an_interrupt_passes_through(error: BaseException) -> None:
    def value_of(_: str) -> object:
        raise error

    with pytest.raises(type(error)):
        interpolated("$`x`", value_of, described)


def test_an_error_whose_text_raises_is_told_by_its_class() -> None:
    class Odd(Exception):
        def __str__(self) -> str:
            raise ValueError

    def value_of(_: str) -> object:
        raise Odd

    with pytest.raises(UsageProblem, match=r"evaluated: Odd\. "):
        interpolated("$`x`", value_of, described)


@given(st.text(alphabet=st.sampled_from("$`\\ax1 \n\r({'"), max_size=60))
def test_whatever_is_written_all_of_it_but_expressions_and_their_backslashes_arrives(text: str) -> None:
    parts, _ = interpolated(text, lambda expression: expression, lambda name, value: [f"$`{name}`"])
    joined = "".join(part for part in parts if isinstance(part, str))
    strip = str.maketrans("", "", "\\ ")
    assert joined.translate(strip) == text.translate(strip)


@NO_HANG
@pytest.mark.parametrize("piece", ["$`", "$`x", "`$", "\\$`x` ", "$`x`$", "$`(", "`", "\n$`", "$` ", "$`x y` "])
def test_a_long_prompt_takes_time_in_proportion(piece: str) -> None:
    text = piece * 200_000
    parts, _ = interpolated(text, nothing_is_evaluated, described)
    assert "".join(map(str, parts)).replace("\\", "") == text.replace("\\", "")
