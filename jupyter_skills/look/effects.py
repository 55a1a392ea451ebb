"""What calling a function or method does, by its dotted name."""

from __future__ import annotations

from jupyter_skills.look.known import EVALUATORS, LOADERS, NETWORK_MODULES, SENDERS, STARTERS, names

# An object that nothing is known of. ``()`` stands for what a call gave, so that ``pathlib.Path().touch`` is a method
# of a path.
ANY = "?"

_FUNCTIONS: dict[str, str] = {
    "delete": """os.remove os.unlink os.rmdir os.removedirs shutil.rmtree send2trash.send2trash os.truncate os.ftruncate
        pathlib.Path.unlink pathlib.Path.rmdir""",
    "move": """os.rename os.renames os.replace shutil.move shutil.chown os.chmod os.chown os.lchown os.fchmod
        os.fchown os.lchmod os.link os.symlink os.setxattr os.removexattr os.utime os.chflags
        pathlib.Path().rename pathlib.Path().replace pathlib.Path().chmod pathlib.Path().lchmod
        pathlib.Path().symlink_to pathlib.Path().hardlink_to pathlib.Path().link_to pathlib.Path.rename
        pathlib.Path.replace""",
    "write": """builtins.open io.open io.FileIO io.open_code codecs.open gzip.open bz2.open lzma.open tarfile.open
        zipfile.ZipFile zipfile.PyZipFile h5py.File gzip.GzipFile bz2.BZ2File lzma.LZMAFile
        zipfile.ZipFile().extract tarfile.TarFile tarfile.open().extract shutil.copy shutil.copy2
        shutil.copyfile shutil.copytree shutil.copymode shutil.copystat shutil.make_archive
        shutil.unpack_archive os.mknod os.mkfifo os.write os.pwrite os.writev os.sendfile os.open
        os.copy_file_range os.splice os.posix_fallocate os.fdopen logging.FileHandler fileinput.input
        pathlib.Path().touch pathlib.Path().copy pathlib.Path().move pathlib.Path().copy_into
        pathlib.Path().move_into numpy.save numpy.savez numpy.savez_compressed numpy.savetxt numpy.memmap
        numpy.lib.format.open_memmap joblib.dump torch.save tables.open_file pandas.ExcelWriter pandas.HDFStore
        scipy.io.savemat scipy.io.wavfile.write scipy.sparse.save_npz imageio.imwrite imageio.mimsave
        cv2.imwrite cv2.VideoWriter netCDF4.Dataset pyarrow.parquet.write_table pyarrow.feather.write_feather
        matplotlib.pyplot.savefig matplotlib.pyplot.imsave sklearn.datasets.dump_svmlight_file zarr.open
        zarr.save logging.handlers.RotatingFileHandler
        logging.handlers.TimedRotatingFileHandler logging.handlers.WatchedFileHandler argparse.FileType
        trace.Trace multiprocessing.shared_memory.SharedMemory tempfile.mktemp dbm.open""",
    "make": """os.mkdir os.makedirs tempfile.NamedTemporaryFile tempfile.TemporaryFile tempfile.TemporaryDirectory
        tempfile.mkdtemp tempfile.mkstemp tempfile.SpooledTemporaryFile pathlib.Path().mkdir""",
    "read": """os.listdir os.walk os.scandir os.fwalk os.read os.readlink os.getxattr os.listxattr glob.glob
        glob.iglob numpy.load numpy.loadtxt numpy.genfromtxt numpy.fromfile scipy.io.loadmat
        scipy.io.wavfile.read matplotlib.pyplot.imread matplotlib.image.imread PIL.Image.open cv2.imread
        cv2.VideoCapture imageio.imread imageio.v2.imread imageio.v3.imread skimage.io.imread
        openpyxl.load_workbook linecache.getline linecache.getlines filecmp.cmp filecmp.dircmp pandas.ExcelFile
        xarray.open_dataset xarray.open_dataarray xarray.open_mfdataset soundfile.read librosa.load spacy.load
        fiona.open rasterio.open nbformat.read configparser.ConfigParser().read shutil.disk_usage
        pathlib.Path().glob pathlib.Path().rglob pathlib.Path().iterdir pathlib.Path().read_text
        pathlib.Path().read_bytes pathlib.Path().walk mmap.mmap tokenize.open wave.open""",
    "folder": "os.chdir os.fchdir contextlib.chdir os.chroot os.umask",
    "fetch": """requests.get requests.head requests.options requests.Session httpx.get httpx.head httpx.Client
        httpx.AsyncClient urllib.request.urlopen urllib.request.urlretrieve aiohttp.ClientSession socket.socket
        socket.create_connection socket.getaddrinfo socket.gethostbyname asyncio.open_connection
        asyncio.open_unix_connection sklearn.datasets.fetch_openml seaborn.load_dataset
        seaborn.get_dataset_names huggingface_hub.hf_hub_download huggingface_hub.snapshot_download
        datasets.load_dataset nltk.download tensorflow.keras.utils.get_file keras.utils.get_file
        torch.hub.download_url_to_file torch.hub.load_state_dict_from_url gdown.download wget.download
        pooch.retrieve yfinance.download yfinance.Ticker webbrowser.open webbrowser.open_new
        webbrowser.open_new_tab webbrowser.get vega_datasets.data logging.handlers.SysLogHandler
        litellm.completion litellm.acompletion openai.OpenAI openai.AsyncOpenAI anthropic.Anthropic
        anthropic.AsyncAnthropic IPython.display.IFrame psycopg2.connect psycopg.connect pymysql.connect
        pymongo.MongoClient redis.Redis sqlalchemy.create_engine tiktoken.get_encoding""",
    "send": """requests.post requests.put requests.patch requests.delete requests.request httpx.post httpx.put
        httpx.patch httpx.delete httpx.request httpx.stream smtplib.SMTP smtplib.SMTP_SSL ftplib.FTP
        ftplib.FTP_TLS urllib.request.Request boto3.client boto3.resource boto3.Session wandb.init wandb.log
        mlflow.start_run mlflow.set_tracking_uri logging.handlers.HTTPHandler logging.handlers.SMTPHandler
        logging.handlers.SocketHandler logging.handlers.DatagramHandler xmlrpc.client.ServerProxy""",
    "serve": """http.server.HTTPServer http.server.ThreadingHTTPServer socketserver.TCPServer asyncio.start_server
        asyncio.start_unix_server socket.create_server uvicorn.run xmlrpc.server.SimpleXMLRPCServer
        wsgiref.simple_server.make_server code.interact""",
    "run": """os.startfile os.posix_spawn os.posix_spawnp os.execl os.execle os.execlp os.execlpe os.execv os.execve
        os.execvp os.execvpe os.spawnl os.spawnle os.spawnlp os.spawnlpe os.spawnv os.spawnve os.spawnvp
        os.spawnvpe subprocess.getoutput subprocess.getstatusoutput pty.spawn pty.fork os.fork os.forkpty
        asyncio.create_subprocess_exec asyncio.create_subprocess_shell multiprocessing.Process
        multiprocessing.Pool multiprocessing.Manager multiprocessing.get_context multiprocessing.pool.Pool
        concurrent.futures.ProcessPoolExecutor psutil.Popen pexpect.spawn pexpect.run sh.Command ffmpeg.run
        pip.main ensurepip.bootstrap venv.create torch.multiprocessing.spawn""",
    "exit": """sys.exit os._exit os.abort os.kill os.killpg signal.raise_signal signal.pthread_kill builtins.exit
        builtins.quit faulthandler._sigsegv signal.alarm signal.setitimer psutil.Process().kill
        psutil.Process().terminate psutil.Process().suspend resource.setrlimit""",
    "thread": """threading.Thread threading.Timer _thread.start_new_thread concurrent.futures.ThreadPoolExecutor
        multiprocessing.pool.ThreadPool multiprocessing.dummy.Pool asyncio.create_task asyncio.ensure_future
        asyncio.to_thread asyncio.run_coroutine_threadsafe sched.scheduler asyncio.TaskGroup""",
    "later": """atexit.register signal.signal gc.callbacks codecs.register weakref.finalize
        threading.settrace threading.setprofile sys.setprofile
        sys.settrace sys.addaudithook sys.set_asyncgen_hooks threading.setprofile_all_threads
        threading.settrace_all_threads faulthandler.dump_traceback_later sys.monitoring.register_callback""",
    "environment": """os.putenv os.unsetenv os.nice os.setuid os.setgid os.seteuid os.setegid os.setsid os.setpriority
        os.sched_setaffinity os.close os.closerange os.dup2 os.setpgid os.setgroups os.pipe gc.disable
        gc.freeze sys.setrecursionlimit sys.setswitchinterval socket.setdefaulttimeout dotenv.load_dotenv
        time.tzset logging.disable""",
    "secret": """os.getenv os.getenvb dotenv.load_dotenv dotenv.dotenv_values getpass.getpass keyring.get_password
        pandas.read_clipboard pyperclip.paste tkinter.Tk().clipboard_get google.colab.userdata.get netrc.netrc
        pwd.getpwall spwd.getspall os.environb os.environ""",
    "database": "",
    "install": "pip.main pip._internal.main pip._internal.cli.main.main ensurepip.bootstrap",
    "hidden": """pandas.eval numexpr.evaluate sympy.sympify sympy.parse_expr sympy.parsing.sympy_parser.parse_expr
        builtins.exec builtins.eval builtins.compile builtins.breakpoint builtins.globals builtins.locals
        builtins.vars builtins.__import__ builtins.__loader__ builtins.__spec__ importlib.import_module
        builtins.getattr builtins.setattr builtins.delattr importlib.reload importlib.__import__
        importlib.machinery importlib.util.spec_from_file_location importlib.util.module_from_spec
        runpy.run_path runpy.run_module code.InteractiveConsole code.InteractiveInterpreter
        codeop.compile_command types.FunctionType types.CodeType types.ModuleType inspect.currentframe
        inspect.stack inspect.trace sys._getframe sys._current_frames sys.modules sys.meta_path sys.path_hooks
        sys.settrace sys.path_importer_cache sys.displayhook sys.excepthook sys.unraisablehook
        sys.breakpointhook gc.get_objects gc.get_referrers gc.get_referents marshal.load pickle.load
        pickle.Unpickler dill.load cloudpickle.load joblib.load torch.load torch.jit.load pandas.read_pickle
        shelve.open shelve.DbfilenameShelf torch.hub.load yaml.unsafe_load yaml.full_load yaml.unsafe_load_all
        yaml.full_load_all jsonpickle.decode numpy.f2py.compile keras.models.load_model
        tensorflow.keras.models.load_model tensorflow.saved_model.load mlflow.pyfunc.load_model cProfile.runctx
        profile.runctx pdb.run pdb.runeval pdb.set_trace bdb.Bdb doctest.testmod doctest.run_docstring_examples
        unittest.main pytest.main logging.config.dictConfig logging.config.fileConfig logging.config.listen
        site.addsitedir site.main zipimport.zipimporter imp.load_source imp.load_module pkgutil.get_loader
        typing.get_type_hints
        typing_extensions.get_type_hints typing.ForwardRef typing_extensions.ForwardRef typing.evaluate_forward_ref
        typing_extensions.evaluate_forward_ref operator.attrgetter operator.methodcaller traitlets.import_item
        traitlets.utils.importstring importlib.metadata.EntryPoint numpy.testing.runstring numpy.testing.measure
        numpy.testing.rundocs numpy.ctypeslib.load_library jinja2.Template jinja2.Environment().from_string
        jinja2.Environment().compile_expression jinja2.Environment().get_template flask.render_template_string
        torch.utils.cpp_extension.load torch.utils.cpp_extension.load_inline six.exec_ cProfile.Profile().runctx
        profile.Profile().runctx sys.call_tracing sys.remote_exec
        pkgutil.resolve_name pydoc.locate pydoc.importfile IPython.display.Javascript IPython.embed
        IPython.start_ipython jupyter_skills.runtime.call_tool jupyter_skills.runtime.run_script
        unittest.mock.patch sys.path builtins.__builtins__ string.Formatter().get_field inspect.getclosurevars""",
}
_CALM = """platform.system os.getcwd os.getcwdb os.cpu_count os.getpid os.getppid os.fspath os.fsencode os.fsdecode
    os.sep os.linesep os.name os.curdir os.pardir os.extsep os.pathsep os.altsep os.devnull os.stat os.lstat
    os.access os.uname os.times os.getlogin os.getloadavg os.urandom os.PathLike os.stat_result os.DirEntry
    os.error os.terminal_size os.get_terminal_size os.path os.isatty os.getuid os.getgid os.cpu_count
    os.process_cpu_count os.sched_getaffinity os.supports_fd os.strerror os.fstat os.statvfs os.get_exec_path
    os.supports_follow_symlinks os.geteuid os.getpriority shutil.get_terminal_size shutil.which shutil.Error
    shutil.SameFileError shutil.ignore_patterns shutil.get_archive_formats subprocess.PIPE subprocess.DEVNULL
    subprocess.STDOUT subprocess.CalledProcessError subprocess.TimeoutExpired subprocess.SubprocessError
    subprocess.CompletedProcess subprocess.list2cmdline socket.gethostname socket.timeout socket.error
    socket.gaierror socket.herror socket.inet_aton socket.inet_ntoa socket.htons socket.ntohs requests.exceptions
    requests.codes requests.utils.quote requests.Response requests.RequestException requests.HTTPError
    requests.ConnectionError requests.Timeout httpx.HTTPError httpx.Timeout httpx.URL httpx.RequestError
    httpx.HTTPStatusError aiohttp.ClientTimeout aiohttp.ClientError multiprocessing.cpu_count
    multiprocessing.current_process multiprocessing.freeze_support pickle.dumps pickle.dump pickle.HIGHEST_PROTOCOL
    pickle.DEFAULT_PROTOCOL pickle.PickleError pickle.UnpicklingError pickle.PicklingError marshal.dumps
    urllib.error urllib.parse signal.SIGINT signal.SIGTERM signal.Signals signal.getsignal signal.strsignal
    types.SimpleNamespace json.load json.loads json.dump json.dumps yaml.safe_load yaml.safe_dump yaml.dump
    yaml.safe_load_all yaml.safe_dump_all pickle.Pickler tomllib.load tomllib.loads csv.reader csv.writer
    random.shuffle numpy.random.shuffle importlib.metadata importlib.resources importlib.util.find_spec
    importlib.abc importlib.invalidate_caches asyncio.run asyncio.sleep io.StringIO io.BytesIO io.TextIOWrapper
    http.HTTPStatus contextlib.ExitStack joblib.Memory joblib.Parallel joblib.delayed IPython.display.display
    IPython.display.Image sys.getsizeof sys.stdout.write sys.stderr.write sys.stdout.flush io.StringIO().write
    io.BytesIO().write io.StringIO().writelines tqdm.tqdm.write tqdm.auto.tqdm.write tqdm.notebook.tqdm.write
    numpy.delete importlib.metadata.version random.seed IPython.display.clear_output IPython.display.HTML
    IPython.core.display.display IPython.core.display.HTML IPython.version_info jupyter_skills.tool
    jupyter_skills.runtime.tool unittest.TestCase unittest.mock.Mock unittest.mock.MagicMock sys.platform"""

# What a method does whatever the object, unless the object is known better. Those that hand back a text where they
# are given no file do nothing then.
_METHODS: dict[str, str] = {
    "delete": "unlink rmdir rmtree removedirs drop_collection delete_many delete_one delete_object delete_objects",
    "write": """write_text write_bytes to_csv to_excel to_parquet to_json to_pickle to_hdf to_feather to_stata to_orc
        to_xml to_latex to_html to_markdown to_string to_clipboard tofile to_file to_netcdf to_zarr savefig
        savetxt savez savez_compressed save save_pretrained save_model save_weights save_html save_all
        write_csv write_parquet write_html write_image write_json write_excel write_ipc write_ndjson write_avro
        write_delta sink_csv sink_parquet sink_ipc sink_ndjson savemat imsave imwrite writestr extractall
        writelines writetofile touch symlink_to hardlink_to save_npz dump_svmlight_file write_table write_file
        write_gml write_graphml write_gexf write_edgelist write_gpickle export_graphviz makefile copyfile
        copytree write_dataset to_disk save_to_disk write_video save_video write""",
    "make": "mkdir makedirs",
    "read": """read_text read_bytes read_csv read_excel read_parquet read_json read_html read_xml read_feather
        read_hdf read_orc read_stata read_sas read_spss read_fwf read_table read_file read_ipc read_avro
        read_ndjson scan_csv scan_parquet scan_ipc scan_ndjson read_dta loadtxt genfromtxt fromfile imread
        loadmat load_workbook open_dataset iterdir rglob listdir scandir read_image read_video""",
    "run": """system popen getoutput getstatusoutput check_output check_call Popen spawnl spawnle spawnlp spawnv
        spawnve spawnvp spawnvpe execl execle execlp execv execve execvp execvpe startfile posix_spawn
        exec_command create_subprocess_exec create_subprocess_shell invoke_shell subprocess_exec
        subprocess_shell""",
    "send": f"""{" ".join(sorted(SENDERS - {"put", "patch"}))} upload_file upload_fileobj put_object upload_blob
        upload_from_filename upload_from_string push_to_hub upload_folder send_bytes send_json send_string
        insert_one insert_many update_one update_many to_gbq publish""",
    "fetch": """urlretrieve download_file download_fileobj retrbinary retrlines from_pretrained fetch_openml
        fetch_california_housing fetch_20newsgroups fetch_olivetti_faces fetch_lfw_people fetch_covtype
        fetch_rcv1 load_dataset hf_hub_download open_connection download_to_filename read_gbq""",
    "serve": "serve_forever create_server start_server run_server launch",
    "later": "call_later call_at add_signal_handler add_reader add_done_callback",
    "database": "execute executemany executescript to_sql drop_all create_all drop_database commit",
    "query": "read_sql read_sql_query read_sql_table read_database",
    "hidden": """read_pickle exec_module load_module run_cell run_cell_async run_line_magic run_cell_magic run_code
        enable_load_extension load_extension import_module load_learner find_class __subclasses__ __globals__
        __builtins__ __code__ __closure__ __getattribute__ __import__ __loader__ __mro__ __bases__ __base__
        __reduce__ __reduce_ex__ __self__ __func__ __wrapped__ f_globals f_builtins f_locals f_back gi_frame
        cr_frame ag_frame tb_frame gi_code cr_code co_code func_globals safe_execfile
        import_item safeimport runstring load_library from_custom_template user_ns user_global_ns
        _getframe settrace setprofile addaudithook""",
    "exit": "_exit killpg abort",
    "thread": """run_in_executor start_new_thread create_task ensure_future run_coroutine_threadsafe
        call_soon_threadsafe""",
}
TEXT_WITHOUT_FILE = names(
    "to_csv to_json to_html to_latex to_markdown to_string to_xml write_csv write_json touch save savez"
) - {"touch", "save", "savez"}
# A parameter that names the file where it isn't the first one.
FILE_WORDS = names(
    """path path_or_buf path_or_buffer path_buf buf fname filename file filepath filepath_or_buffer io fp
    excel_writer src dst out f fpath file_path"""
)

# Modules of which every other function does this, too.
_ALL_OF: dict[str, str] = {
    "fetch": """requests httpx aiohttp urllib3 socket urllib.request http.client websocket websockets paramiko poplib
        imaplib nntplib telnetlib webbrowser huggingface_hub selenium ssl""",
    "send": "ftplib smtplib boto3 botocore xmlrpc wandb gspread",
    "serve": "http.server socketserver wsgiref",
    "run": "subprocess pty multiprocessing posix nt venv ensurepip pexpect",
    "environment": "os fcntl termios tty resource",
    "write": "shutil fsspec mailbox readline",
    "exit": "signal",
    "thread": "_thread",
    "install": "pip setuptools distutils conda",
    "hidden": """ctypes cffi importlib runpy code codeop marshal pickle dill cloudpickle shelve imp zipimport pkgutil
        site _posixsubprocess builtins.__builtins__ jupyter_skills pandas.io.common numpy.distutils numpy.f2py
        numpy.testing.measure IPython.core IPython.utils IPython.lib IPython.terminal IPython.extensions
        IPython.kernel IPython.testing sys.meta_path sys.modules sys.path""",
}
# What stays a danger however it is passed on, so that a name for it that can't be followed is something hidden.
MODULES = names("""os sys subprocess shutil socket importlib builtins pathlib signal pty posix nt pickle marshal
    ctypes cffi urllib urllib.request http http.client requests httpx aiohttp multiprocessing threading asyncio
    runpy code codeop gc inspect types io tempfile glob shelve dill cloudpickle joblib smtplib ftplib paramiko
    boto3 concurrent.futures atexit webbrowser IPython.get_ipython IPython.get_ipython() pip pkgutil site imp
    zipimport socketserver http.server""")
# Found inside of another module (``pathlib.os``), a module is what it is.
INNER = MODULES - {"io", "code", "types", "http", "site", "glob", "signal", "inspect", "threading", "asyncio", "gc"}


def _table(groups: dict[str, str]) -> dict[str, str]:
    return {name: kind for kind, several in groups.items() for name in names(several)}


FUNCTIONS: dict[str, str] = {
    **dict.fromkeys(_CALM.split(), ""),
    **_table(_FUNCTIONS),
    **dict.fromkeys(STARTERS, "run"),
    **dict.fromkeys(LOADERS | {name for name in EVALUATORS if "." in name}, "hidden"),
}
# The rest of what a method's name is followed for depends on what it is given.
METHODS = {**dict.fromkeys(("open", "query", "eval", "from_string"), ""), **_table(_METHODS)}
ALL_OF = {**dict.fromkeys(NETWORK_MODULES, "fetch"), **_table(_ALL_OF)}
# What a path does that is found in other ways than by ``Path()``, such as ``Path.home().rename``; and the parts of a
# path that are texts, whose methods have the same names.
PATH_METHODS = {
    name.rpartition(".")[2]: kind for name, kind in FUNCTIONS.items() if name.startswith("pathlib.Path().") and kind
}
PATH_TEXTS = names("name stem suffix drive root anchor as_posix() as_uri() read_text() read_bytes() parts suffixes")
PATHS_OF_PATHS = names(
    """glob rglob iterdir walk with_suffix with_name with_stem with_segments resolve absolute expanduser joinpath
    relative_to readlink rename replace"""
)
