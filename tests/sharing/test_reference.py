from __future__ import annotations

import pytest

from jupyter_skills.errors import UsageProblem
from jupyter_skills.sharing.reference import parse, without_credentials


@pytest.mark.parametrize(
    ("text", "kind", "address", "revision", "folder", "name"),
    [
        ("./mine", "local", "./mine", None, None, None),
        ("mine.zip", "local", "mine.zip", None, None, None),
        ("https://a.example/x.zip", "web", "https://a.example/x.zip", None, None, None),
        ("https://a.example/base#mine", "web", "https://a.example/base", None, None, "mine"),
        ("git+https://u:p@a.example/x.git", "git", "https://u:p@a.example/x.git", None, None, None),
        ("git+https://a.example/x@v1.0", "git", "https://a.example/x", "v1.0", None, None),
        ("git+https://a.example/x@feat/a+b#subdirectory=s/m", "git", "https://a.example/x", "feat/a+b", "s/m", None),
        ("git+ssh://git@a.example/x.git", "git", "ssh://git@a.example/x.git", None, None, None),
        ("git+ssh://git@a.example/x.git@main#mine", "git", "ssh://git@a.example/x.git", "main", None, "mine"),
        ("git+file:///a%20b/x", "git", "/a b/x", None, None, None),
        ("git+/a/x@main", "git", "/a/x", "main", None, None),
    ],
)
def test_references_are_read_as_pip_reads_them(
    text: str, kind: str, address: str, revision: str | None, folder: str | None, name: str | None
) -> None:
    read = parse(text)
    assert (read.kind, read.address, read.revision, read.folder, read.name) == (kind, address, revision, folder, name)


def test_a_revision_may_stand_apart() -> None:
    assert parse("git+https://a.example/x", "v1").revision == "v1"
    assert parse("git+https://a.example/x@v1", "v1").revision == "v1"


@pytest.mark.parametrize(
    ("text", "revision"),
    [
        ("ftp://a.example/x.zip", None),
        ("file:///etc/passwd", None),
        ("http://a.example/x.zip", None),
        ("https://", None),
        ("https://[a/x.zip", None),
        ("https://a.example:port/x.zip", None),
        ("git+http://a.example/x", None),
        ("git+ext::sh -c id", "--all"),
        ("git+ext://sh", None),
        ("git+ssh://-oProxyCommand=id/x", None),
        ("git+https:///x", None),
        ("git+https://a.example/x@", None),
        ("git+https://a.example/x@--upload-pack=id", None),
        ("git+https://a.example/x@+refs/heads/*", None),
        ("git+https://a.example/x@a:refs/heads/b", None),
        ("git+https://a.example/x@a..b", None),
        ("git+https://a.example/x", "-x"),
        ("git+https://a.example/x", "HEAD^{/x}"),
        ("git+https://a.example/x@a", "b"),
        ("git+https://a.example/x#subdirectory=../y", None),
        ("git+https://a.example/x#branch=y", None),
        ("./mi\0ne", None),
        ("git+/a\nb", None),
        ("./mine", "v1"),
        ("https://a.example/x.zip", "v1"),
    ],
)
def test_what_can_be_no_reference_is_refused(text: str, revision: str | None) -> None:
    with pytest.raises(UsageProblem) as caught:
        parse(text, revision)
    assert caught.value.next_step


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("https://user:secret@a.example:8/x.zip?sig=secret#secret", "https://a.example:8/x.zip"),
        ("https://secret@a.example/x", "https://a.example/x"),
        ("ssh://git:secret@a.example/x", "ssh://git@a.example/x"),
        ("https://[secret", "https://…"),
    ],
)
def test_credentials_are_not_shown(address: str, shown: str) -> None:
    assert without_credentials(address) == shown


def test_nor_are_they_in_errors() -> None:
    for text in ("http://u:secret@a.example/x", "https://u:secret@[a/x", "git+https://u:secret@/x"):
        with pytest.raises(UsageProblem) as caught:
            parse(text)
        assert "secret" not in str(caught.value)
