"""What names of Python's own and of common libraries are known for; ``skills/scan`` and the look share it."""

from __future__ import annotations

import re
import sys


def names(text: str) -> frozenset[str]:
    """Names that stand in a text, with blanks between them."""
    return frozenset(text.split())


# Functions and methods, by their last name, that turn a text into another one which no reader sees.
DECODERS = frozenset(
    {"b64decode", "b32decode", "b16decode", "a85decode", "b85decode", "urlsafe_b64decode", "decodebytes", "unhexlify"}
    | {"fromhex", "decompress", "marshal.loads", "codecs.decode"}
)
EVALUATORS = frozenset({"exec", "eval", "builtins.exec", "builtins.eval"})
# These make objects of bytes, and run what the bytes say while they do.
LOADERS = frozenset({"pickle.loads", "marshal.loads", "dill.loads", "cloudpickle.loads"})
STARTERS = frozenset(
    {
        "os.system",
        "os.popen",
        *(f"subprocess.{name}" for name in ("run", "call", "check_call", "check_output", "Popen")),
    }
)
# Methods, by their name, that take data away; some of them do something harmless on other objects.
SENDERS = frozenset({"post", "put", "patch", "urlopen", "sendall", "sendto", "sendmail", "send_message", "storbinary"})
NETWORK_MODULES = frozenset(
    {"requests", "httpx", "aiohttp", "urllib3", "socket", "websocket", "websockets", "paramiko", "ftplib", "smtplib"}
    | {"urllib.request", "http.client"}
)

URL = re.compile(r"\s*(?:https?|ftps?|s3|gs|gcs|az|abfss?|sftp|ssh|wss?|hf|hdfs)://", re.IGNORECASE)
# A file, or a part of its path, that is known for holding keys; looked for in the texts of the code.
KEY_FILE = re.compile(
    r"(?:^|[/\\~])(?:\.ssh|\.aws|\.gnupg|\.netrc|\.pypirc|\.pgpass|\.kube|\.git-credentials|\.env(?:\.\w{1,20})?"
    r"|\.docker|\.config/gcloud|\.azure|\.huggingface|\.kaggle|\.npmrc|\.bash_history|\.ipython|\.jupyter|\.mozilla"
    r"|id_(?:rsa|dsa|ecdsa|ed25519)|etc/(?:shadow|sudoers)|proc/(?:self|\d+|\*)/(?:environ|mem|maps)"
    r"|credentials(?:\.json)?|secrets\.(?:json|ya?ml|toml)|kaggle\.json|kernel-[\w*-]{1,60}\.json)(?:$|[/\\])"
    r"|application_default_credentials|cookies\.sqlite|Login Data|login\.keychain|key4\.db|wallet\.dat"
    r"|-----BEGIN [A-Z ]{0,30}PRIVATE KEY"
)
# Markup that does something once it is on the page, be it only that a picture is fetched from somewhere.
SCRIPT = re.compile(
    r"<\s*(?:script|iframe|object|embed|base|meta|link)\b|javascript:|\bon\w{3,20}\s*="
    r"|\b(?:src|srcset|data|action)\s{0,9}=\s{0,9}[\"']?\s{0,9}(?:https?:)?//|!\[[^\]\n]{0,100}\]\(\s{0,9}https?:",
    re.IGNORECASE,
)

# Libraries that many notebooks import. An import runs the library's code, and here that is expected.
COMMON = names("""
    IPython PIL accelerate aiohttp altair anthropic arviz astropy attr attrs azure boto3 bokeh botocore branca bs4
    cartopy catboost charset_normalizer cloudpickle colorama contextily cupy cv2 cycler dash dask dateutil datasets
    datashader deap dill distributed docx dotenv duckdb empyrical evaluate fastapi fastparquet feedparser fiona
    flask folium fsspec gensim geopandas geopy google graphviz gspread gym gymnasium h5py holoviews html5lib httpx
    huggingface_hub hvplot hypothesis igraph imageio imblearn ipykernel ipywidgets jax jaxlib jinja2 joblib jsonschema
    jupyter_skills keras kiwisolver langchain librosa lifelines lightgbm lightning linearmodels litellm llvmlite lmfit
    loguru lxml markdown matplotlib matplotlib_inline missingno ml_dtypes mlflow mlxtend more_itertools mpl_toolkits
    mpmath msgpack natsort nbformat nest_asyncio netCDF4 networkx nltk notebook numba numexpr numpy odf openai
    openpyxl opt_einsum optax optuna orjson packaging pandas pandas_profiling panel paramiko param patsy peft pendulum
    plotly plotnine polars pooch prettytable prophet psutil psycopg2 pyarrow pydantic pydot pyjanitor janitor pylab
    pymc pymongo pymysql pyparsing pyproj pyro pytensor pytest pytz pywt rapidfuzz rasterio redis regex requests rich
    ruamel sacrebleu scipy seaborn selenium sentence_transformers shap shapely simplejson six skimage sklearn skorch
    sktime smart_open snowballstemmer sortedcontainers soundfile spacy sqlalchemy sqlmodel squarify stata_setup
    statsmodels streamlit sympy tables tabulate tenacity tensorboard tensorflow tensorflow_datasets textblob tf_keras
    threadpoolctl tiktoken tokenizers tomli toolz torch torchaudio torchmetrics torchtext torchvision tqdm traitlets
    transformers tslearn typing_extensions tzdata tzlocal ujson umap urllib3 uvicorn vaex vega_datasets wandb websocket
    websockets wordcloud xarray xgboost xlrd xlsxwriter yaml ydata_profiling yfinance yellowbrick zarr zmq
    """)
STANDARD = frozenset(sys.stdlib_module_names)


def is_known(module: str) -> bool:
    """Whether a module is Python's own or a common library, so that importing it does nothing unexpected."""
    top = module.partition(".")[0]
    if top in STANDARD:
        return not top.startswith("_") or top == "__future__"
    return top in COMMON
