"""What the list of hosts lets through, and how strictly a request is read."""

from __future__ import annotations

import ipaddress

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from jupyter_skills.errors import UsageProblem
from jupyter_skills.sandbox.docker.egress.head import LARGEST_HEAD, Refused, closing, parse
from jupyter_skills.sandbox.docker.egress.rules import Rules, authority_of, host_of, is_public
from tests.conftest import NO_HANG


@pytest.mark.parametrize(
    ("word", "allowed", "not_allowed"),
    [
        ("example.org", ["example.org:80", "EXAMPLE.org.:443"], ["example.org:8080", "a.example.org:443", "org:80"]),
        ("Example.ORG.", ["example.org:443"], ["example.com:443"]),
        ("*.example.org", ["a.example.org:443", "a.b.example.org:80"], ["example.org:443", "badexample.org:443"]),
        ("*.example.org:8443", ["a.example.org:8443"], ["a.example.org:443"]),
        ("example.org:8080", ["example.org:8080"], ["example.org:80", "example.org:443"]),
        ("localhost:8000", ["localhost:8000"], ["localhost:80", "127.0.0.1:8000", "a.localhost:8000"]),
        ("10.1.2.3", ["10.1.2.3:80"], ["10.1.2.4:80", "10.1.2.3:22"]),
        ("[2001:DB8:0:0::1]:99", ["[2001:db8::1]:99"], ["[2001:db8::1]:80"]),
        ("2001:db8::1", ["[2001:db8::1]:443"], ["[2001:db8::2]:443"]),
        ("bücher.example", ["xn--bcher-kva.example:443"], ["bcher.example:443"]),
        ("intranet", ["intranet:80"], ["intranet.example.org:80"]),
    ],
)
def test_a_word_allows_what_it_names_and_no_more(word: str, allowed: list[str], not_allowed: list[str]) -> None:
    rules = Rules([word])
    assert [text for text in allowed if not rules.allow(*asked(text))] == []
    assert [text for text in not_allowed if rules.allow(*asked(text))] == []


def asked(text: str) -> tuple[str, int]:
    host, port = authority_of(text)
    assert port is not None
    return host, port


@pytest.mark.parametrize(
    "word",
    [
        "*",
        "*.",
        "*.org",
        "*.10.0.0.1",
        "a.*.org",
        ".org",
        "a..b",
        "https://example.org",
        "example.org/",
        "example.org:",
        "example.org:0",
        "example.org:99999",
        "example.org:٨٠",
        "user@example.org",
        "localhost",
        "0.0.0.0",
        "224.0.0.1",
        "[::]",
        "127.1",
        "0x7f000001",
        "010.0.0.1",
        "2130706433",
        "[fe80::1%eth0]",
        "-a.org",
        "straße.de",
        "example。org",
    ],
)
def test_a_word_that_could_mean_something_else_is_refused(word: str) -> None:
    with pytest.raises(UsageProblem, match=r"DockerSandbox\.network"):
        Rules([word])


@pytest.mark.parametrize("word", ["", " ", "a b", "a\nb", "a\0b"])
def test_so_is_a_word_that_is_none(word: str) -> None:
    with pytest.raises(UsageProblem):
        Rules([word])


@given(st.text(st.sampled_from("a.:*[]%@1270fex-_ é\0/"), max_size=20) | st.text())
def test_any_word_is_taken_or_refused(word: str) -> None:
    try:
        assert Rules([word])
    except UsageProblem:
        return


@given(st.text(st.sampled_from("aB.:[]%127f0x-_"), max_size=20) | st.text())
def test_a_host_in_the_form_it_is_compared_in_stays_as_it_is(text: str) -> None:
    try:
        host = host_of(text)
    except ValueError:
        return
    assert host_of(f"[{host}]" if ":" in host else host) == host


def test_without_words_there_are_no_rules() -> None:
    assert not Rules([])


@pytest.mark.parametrize(("words", "direct"), [(["a.org"], 3), (["localhost:1"], 2), (["127.0.0.1:1", "[::1]:1"], 1)])
def test_loopback_is_the_sandboxs_own_unless_the_list_names_it(words: list[str], direct: int) -> None:
    assert len(Rules(words).direct) == direct


PUBLIC = "1.1.1.1 8.8.8.8 93.184.216.34 2606:4700:4700::1111 64:ff9b::808:808"
NOT_PUBLIC = (
    "0.0.0.0 0.1.2.3 10.0.0.1 100.64.0.1 100.100.100.200 127.0.0.1 127.9.9.9 169.254.169.254 168.63.129.16 172.16.0.1 "
    "192.0.0.192 192.0.2.1 192.88.99.1 192.168.1.1 198.18.0.1 198.51.100.1 203.0.113.1 224.0.0.1 240.0.0.1 "
    "255.255.255.255 :: ::1 ::127.0.0.1 ::ffff:127.0.0.1 ::ffff:8.8.8.8 64:ff9b::7f00:1 64:ff9b::a9fe:a9fe "
    "64:ff9b:1::808:808 100::1 2001::1 2001:db8::1 2002:7f00:1:: 2002:808:808:: 3fff::1 5f00::1 fc00::1 fd00:ec2::254 "
    "fe80::1 fe80::1%1 fec0::1 ff02::1"
)


@pytest.mark.parametrize("text", PUBLIC.split())
def test_addresses_of_the_internet_are_public(text: str) -> None:
    assert is_public(ipaddress.ip_address(text))


@pytest.mark.parametrize("text", NOT_PUBLIC.split())
def test_addresses_of_machines_networks_groups_and_metadata_services_are_not(text: str) -> None:
    assert not is_public(ipaddress.ip_address(text))


def test_an_address_that_is_not_public_must_be_named_itself() -> None:
    rules = Rules(["intranet.example", "10.0.0.5:443"])
    address = ipaddress.ip_address("10.0.0.5")
    assert rules.allow_address(address, 443)
    assert not rules.allow_address(address, 80)
    assert not rules.allow_address(ipaddress.ip_address("10.0.0.6"), 443)


def head(first: str, *fields: str) -> bytes:
    return "\r\n".join([first, *fields, "", ""]).encode("latin-1")


@pytest.mark.parametrize(
    ("given_head", "host", "port", "written"),
    [
        (head("CONNECT a.org:443 HTTP/1.1", "Host: a.org:443"), "a.org", 443, None),
        (head("CONNECT A.Org.:443 HTTP/1.0"), "a.org", 443, None),
        (head("CONNECT a.org:8443 HTTP/1.1", "Host: a.org"), "a.org", 8443, None),
        (head("CONNECT [::1]:443 HTTP/1.1", "Host: [::1]:443"), "::1", 443, None),
        (
            head("GET http://a.org/x?y=1 HTTP/1.1", "Host: a.org", "Accept: */*", "Proxy-Authorization: secret"),
            "a.org",
            80,
            head("GET /x?y=1 HTTP/1.1", "Host: a.org", "Accept: */*", "Connection: close"),
        ),
        (
            head("GET HTTP://A.org:8080?q HTTP/1.1", "hOST: a.ORG:8080", "Connection: keep-alive, X-Hop", "x-hop: 1"),
            "a.org",
            8080,
            head("GET /?q HTTP/1.1", "Host: a.org:8080", "Connection: close"),
        ),
        (
            head("POST http://a.org HTTP/1.1", "Host: a.org:80", "Content-Length: 3", "Connection: Content-Length"),
            "a.org",
            80,
            head("POST / HTTP/1.1", "Host: a.org", "Content-Length: 3", "Connection: close"),
        ),
        (
            head("POST http://a.org/ HTTP/1.1", "Host: a.org", "Transfer-Encoding: Chunked"),
            "a.org",
            80,
            head("POST / HTTP/1.1", "Host: a.org", "Transfer-Encoding: chunked", "Connection: close"),
        ),
        (head("GET http://a.org/ HTTP/1.0"), "a.org", 80, head("GET / HTTP/1.0", "Host: a.org", "Connection: close")),
    ],
)
def test_a_request_is_written_anew_for_the_server(given_head: bytes, host: str, port: int, written: bytes) -> None:
    request = parse(given_head)
    assert (request.host, request.port, request.head) == (host, port, written)


GOOD = "GET http://a.org/ HTTP/1.1"
MALFORMED = {
    "another host in the Host field": head(GOOD, "Host: b.org"),
    "another port in the Host field": head(GOOD, "Host: a.org:8080"),
    "two Host fields": head(GOOD, "Host: a.org", "Host: a.org"),
    "no Host field": head(GOOD),
    "another host in that of CONNECT": head("CONNECT a.org:443 HTTP/1.1", "Host: b.org:443"),
    "CONNECT without a port": head("CONNECT a.org HTTP/1.1"),
    "CONNECT with a path": head("CONNECT a.org:443/x HTTP/1.1"),
    "a user's name": head("GET http://a.org@b.org/ HTTP/1.1", "Host: b.org"),
    "a user's name in CONNECT": head("CONNECT a.org@b.org:443 HTTP/1.1"),
    "no whole address": head("GET / HTTP/1.1", "Host: a.org"),
    "another scheme": head("GET https://a.org/ HTTP/1.1", "Host: a.org"),
    "a fragment": head("GET http://a.org/#x HTTP/1.1", "Host: a.org"),
    "a backslash before the host's end": head("GET http://a.org\\@b.org/ HTTP/1.1", "Host: a.org"),
    "an escape in the host": head("GET http://a%2eorg/ HTTP/1.1", "Host: a%2eorg"),
    "letters beyond ASCII": head("GET http://a.örg/ HTTP/1.1", "Host: a.örg"),
    "an address in another notation": head("GET http://2130706433/ HTTP/1.1", "Host: 2130706433"),
    "an interface": head("CONNECT [fe80::1%eth0]:443 HTTP/1.1"),
    "two blanks": head("GET  http://a.org/ HTTP/1.1", "Host: a.org"),
    "a tab": head("GET\thttp://a.org/ HTTP/1.1", "Host: a.org"),
    "a blank in front": head(" GET http://a.org/ HTTP/1.1", "Host: a.org"),
    "a blank before the colon": head(GOOD, "Host: a.org", "Content-Length : 3"),
    "a folded line": head(GOOD, "Host: a.org", "X: 1", " Host: b.org"),
    "a bare line feed": head(GOOD, "Host: a.org\nHost: b.org"),
    "a bare carriage return": head(GOOD, "Host: a.org\rHost: b.org"),
    "a NUL": head(GOOD, "Host: a.org\0"),
    "another version": head("GET http://a.org/ HTTP/2.0", "Host: a.org"),
    "two lengths": head(GOOD, "Host: a.org", "Content-Length: 1", "Content-Length: 2"),
    "a list of lengths": head(GOOD, "Host: a.org", "Content-Length: 1, 1"),
    "a signed length": head(GOOD, "Host: a.org", "Content-Length: +1"),
    "a length and chunks": head(GOOD, "Host: a.org", "Content-Length: 1", "Transfer-Encoding: chunked"),
    "chunks within something": head(GOOD, "Host: a.org", "Transfer-Encoding: gzip, chunked"),
    "chunks twice": head(GOOD, "Host: a.org", "Transfer-Encoding: chunked", "Transfer-Encoding: chunked"),
    "chunks in HTTP/1.0": head("GET http://a.org/ HTTP/1.0", "Transfer-Encoding: chunked"),
    "no end": b"GET http://a.org/ HTTP/1.1\r\nHost: a.org\r\n",
    "nothing": b"",
}


@pytest.mark.parametrize("case", MALFORMED)
def test_a_request_that_could_be_read_in_two_ways_is_refused(case: str) -> None:
    with pytest.raises(Refused) as refused:
        parse(MALFORMED[case])
    assert refused.value.status == 400


@pytest.mark.parametrize(
    ("response", "passed_on"),
    [
        (head("HTTP/1.1 200 OK", "A: b"), head("HTTP/1.1 200 OK", "Connection: close", "A: b")),
        (
            head("HTTP/1.1 200 OK", "connection: keep-alive", "Keep-Alive: 5"),
            head("HTTP/1.1 200 OK", "Connection: close"),
        ),
        (head("HTTP/1.0 404 No"), head("HTTP/1.0 404 No", "Connection: close")),
        (head("HTTP/1.1 100 Continue"), head("HTTP/1.1 100 Continue")),
        (head("no such thing"), head("no such thing")),
    ],
)
def test_a_response_says_that_the_connection_ends_with_it(response: bytes, passed_on: bytes) -> None:
    assert closing(response) == passed_on


@NO_HANG
@given(
    st.binary(max_size=200)
    | st.lists(st.sampled_from([*b"GCONET:/ .\r\n\0\t", 0xE9]), max_size=60).map(bytes)
    | st.tuples(st.sampled_from(list(MALFORMED.values())), st.integers(0, 80), st.integers(0, 255)).map(
        lambda drawn: drawn[0][: drawn[1]] + bytes([drawn[2]]) + drawn[0][drawn[1] :]
    )
)
@example(b"GET http://a.org/ HTTP/1.1\r\nX:" + b" " * (LARGEST_HEAD - 50) + b"\x01\r\n\r\n")
def test_any_head_is_read_or_refused_and_what_is_written_is_one_head(content: bytes) -> None:
    try:
        request = parse(content)
    except Refused as refused:
        first, _, rest = refused.answer().partition(b"\r\n")
        assert first.startswith(b"HTTP/1.1 400 ")
        assert rest.count(b"\r\n\r\n") == 1
        return
    assert host_of(f"[{request.host}]" if ":" in request.host else request.host) == request.host
    if request.head is not None:
        assert request.head.count(b"\r\n\r\n") == 1
        assert request.head.lower().count(b"\r\nhost:") == 1
        assert not set(b"\r\n\0") & set(request.head.replace(b"\r\n", b""))
