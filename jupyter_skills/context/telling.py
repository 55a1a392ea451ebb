"""Which values can be told from ordinary text, so that taking them out of it does no harm."""

from __future__ import annotations

import builtins
import keyword
import os
import re
import sys
from functools import cache

from jupyter_skills.context.shapes import is_placeholder

_WORD = r"(?:[a-z]+|[A-Z]+|[A-Z]?[a-z]{2,}(?:[A-Z][a-z]{2,})+|[A-Z][a-z]+)"
_WORDS = re.compile(rf"{_WORD}(?:[-_./: ]+{_WORD})*[0-9]?")
_HUMPS = re.compile(r"[A-Z]?[a-z]{2,}(?:[A-Z][a-z]{2,})+")
_SHORT_WORDS = re.compile(r"[A-Za-z]+(?:[-_./: ]+[A-Za-z]+)*")
_PIECE = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_SHORT = 16

_ORDINARY = re.compile(
    "(?i)passwords?|passwort|secrets?|changeme|postgres(?:ql)?|jupyter|default|username|administrator|localhost|undefined"
    "|disabled|enabled|password1|password123|test1234|letmein"
)
_REFERENCE = re.compile(r"os\.environ/\w+|\$\{\w+\}")  # what stands for a value that is kept elsewhere
_PLACE = re.compile(r"(?:[~.]{0,2}/|[A-Za-z]:[\\/]|\\\\)")
# Base64 may begin with a slash too, but hardly with the name of a folder between two.
_PATH = re.compile(r"(?:~\w*|\.{1,2})/.*|[A-Za-z]:[\\/].*|\\\\.*|/(?:[a-z]{2,}\d?|[A-Z][a-z]+)(?:/[\w.@ -]+)+/?")
_FILE = re.compile(
    r"(?i)[\w./\\ -]+\.(?:pem|key|pub|crt|cer|der|p12|pfx|jks|json|ya?ml|toml|txt|csv|tsv|parquet|py|ipynb|env|cfg|conf"
    r"|ini|html?|xml|zip|gz|md|db|sqlite|png|jpe?g|log)"
)
_FILE_IN_FOLDERS = re.compile(r"(?:~\w*|\.{1,2})?(?:/[\w.@-]+){2,}\.[a-z0-9]{2,5}|~(?:/[\w.@-]+)+")
_GLOB = re.compile(r"(?=.*(?:(?:^|[/._:-])\*|\*(?:[/._:-]|$)))[\w./*?\[\]!~{},: -]+")
_DATE = re.compile(
    r"\d{4}[-/.]\d{1,2}(?:[-/.]\d{1,2})?(?:[T ]\d{1,2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:?\d{2})?)?"
    r"|\d{1,2}[-/.]\d{1,2}[-/.]\d{2,4}|\d{1,2}:\d{2}(?::\d{2})?|v?\d{1,4}(?:\.\d{1,4}){1,3}"
)

# Words that programs, tables and prompts are full of; those of Python itself are added to them.
_COMMON = """
about above access account accounts action active actor add address admin after again agent alert algorithm all alpha
amount analysis animal answer any anything api app apple application area array arrow article asset audio author auto
average azure backend banana base baseline basic batch before below best beta between big binary black block blue board
body book boot bot bottom box branch bucket build button cache calendar call camera car card cart case cat category
cell center chain change channel chart chat check child choice city class classifier clean clear click client clock
cloud cluster code col color colour column columns command comment common company computer config connection console
contact container content context control cookie copy core cost count counter country course create created credit
current cursor custom customer daily dark data database dataframe dataset date day dead debug decoder deep default
delta demo department description design detail device dev dialog dictionary diff dimension direct directory disk
display docker doc document dog domain done double down download draft driver dummy duration edge edit editor element
email embedding empty encoder end endpoint energy engine enter entity entry env environment epoch error estimator event
example experiment export extra face factor factory fail failure fake false family feature feed fetch field figure file
filter final find first fit flag flat float flow folder font foo food football forest form format forward fragment
frame free friday friend front full function game gamma gateway general generator github gitlab global good google
gradient graph gray green grid group guest half hand handler happy hard hash head header health height hello help
hidden high history home host hour house html http https human image import important income index info information
inner input insert install instance integer interface internal invoice item items january java javascript job join
journal json kernel key keyboard label lake language large last lateral latest layer layout learning left legend length
letter level library light limit line linear link linux list listen litellm load local location lock logger login
logistic long lookup loop lower machine mail main manager manual map march margin market master match matrix maximum
mean measure measurement media median medium member memory menu merge message metadata method metric middle mini
minimum minute mixed mobile mode model module moment monday money monitor month morning mouse movie multi music name
native needed nested network neural neuron never new news next night node none noop normal note notebook nothing number
numeric object off office offset ok old ollama online open operation operator option optimizer orange order
organization original other outer output owner package page paint panel paper parameter parent parse parser part
partner party pass passphrase passwd password patch path patient pattern payload payment people percent performance
period person personal phone phrase physics picture piece pipeline pixel place plain plan planet plant platform play
player playground please plot plugin png point policy position post power prediction prefix price primary print private
problem process processor product production profile program progress project prompt property protected provider proxy
public publish purple python quality quantity query question queue quick quiet radio random range rank rate ratio raw
reader ready real reason recent record red redis region regression regressor regular relation relative release remote
remove render replace report repository request required reset resource response rest result retry return revenue
review right river role root round route router row rows rule run running runtime safe sales sample sampler saturday
save scale scanner schedule schema school science score scratch screen script search season second secret section
secure security select self sender sensor sentence sequence series server service session setting settings setup shape
share sheet shell shop short show side signal silver simple single site size skill skip slice small snapshot snow
social software solution something song sorted source space spam spark special species spring sql stack staff stage
staging standard star start state statement static station statistic status step stock stop storage store story stream
street string strong student studio style subject submit success suffix summary summer sunday super supplier support
survey switch symbol system table target task teacher team temperature template temporary tensor terminal test testing
text theme thing this thread thursday ticket time timeout timestamp title token tokenizer toggle tool tools total tower
town track trade traffic train trainer training transaction transform transformer travel tree trial trigger true
tuesday tutorial type types undefined union unique unit university unknown update upload upper url usage user username
users utility valid validation validator value values variable variance vector vehicle vendor verbose version vertex
vertical video view virtual visible visit visitor volume wait walk warning watch water weather web website wednesday
week weekly weight welcome west white widget width wind window winter without word words work worker world write writer
wrong year yellow yes yesterday your zero zone zoo lm not no accelerate anthropic bokeh conda dask django duckdb
fastapi flask httpx hugging jupyter keras langchain matplotlib mysql numpy openai pandas plotly polars postgres pyarrow
pydantic pytest pytorch requests scikit scipy seaborn sklearn spacy sqlalchemy sqlite statsmodels streamlit tensorflow
tiktoken torch torchvision tqdm transformers vllm xgboost
"""


def is_telling(value: str, trusted: bool) -> bool:
    """Whether a value can be told from ordinary text.

    Args:
        value: The value, without spaces around it.
        trusted: Whether it is a password: they are also words or dates, where keys are drawn at random.
    """
    kinds = sum(bool(re.search(kind, value)) for kind in ("[a-z]", "[A-Z]", "[0-9]", r"[^A-Za-z0-9]"))
    if len(value) < 6 or (len(value) < 8 and kinds < 2) or (value.isdigit() and len(value) < 10):
        return False
    if is_placeholder(value) or _ORDINARY.fullmatch(value) or _REFERENCE.fullmatch(value):
        return False
    if _PLACE.match(value) and _exists(value):
        return False
    if trusted:
        return not (_is_ordinary(value) or _FILE_IN_FOLDERS.fullmatch(value))
    if _WORDS.fullmatch(value):
        return len(value) >= 20 and value.isalpha() and not value.istitle() and not _HUMPS.fullmatch(value)
    return not any(shape.fullmatch(value) for shape in (_PATH, _FILE, _GLOB, _DATE))


def _is_ordinary(value: str) -> bool:
    """Whether it is short and all of it common words, as in ``function``, ``DataFrame`` and ``user_name``."""
    if len(value) >= _SHORT or not _SHORT_WORDS.fullmatch(value):
        return False
    return all(
        _is_common(word) or all(map(_is_common, _PIECE.findall(word))) for word in re.findall("[A-Za-z]+", value)
    )


def _is_common(word: str) -> bool:
    low = word.lower()
    return low in _vocabulary() or (low.endswith("s") and low[:-1] in _vocabulary())


@cache
def _vocabulary() -> frozenset[str]:
    """Words in lower case: the common ones, and those of the names in Python and its library."""
    names = {*dir(builtins), *keyword.kwlist, *sys.stdlib_module_names}
    names.update(name for kind in (str, bytes, int, float, list, dict, set, tuple) for name in dir(kind))
    pieces = {piece for name in names for piece in _PIECE.findall(name)}
    return frozenset(word.lower() for word in {*names, *pieces, *_COMMON.split()} if word.isalpha())


def _exists(path: str) -> bool:
    try:
        return os.path.exists(os.path.expanduser(path))
    except (OSError, ValueError):  # a NUL within
        return False
