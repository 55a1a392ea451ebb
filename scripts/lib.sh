# Steps shared by the two commands of the README. Sourced, never run.
#
# Every step first looks whether there is anything to do, so that a second run is quick, and says in
# one line what it does. What it may not install it names, with the command that would.

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

PATH=$PATH:/usr/sbin:/sbin # where dockerd and debootstrap lie, which a user's own path may leave out
VENV=.venv
PYTHON=$VENV/bin/python
LOGS=build/logs
mkdir -p "$LOGS"

say() { printf '\033[1m==>\033[0m %s\n' "$*"; }
fail() { printf 'error: %s\n' "$*" >&2; exit 2; }

on_debian() { [ -r /etc/debian_version ] && command -v apt-get >/dev/null; }
can_install() { on_debian && [ "$(id -u)" = 0 ]; }

# quietly LOG COMMAND…: keeps the output in a log and shows its end only if the command fails.
quietly() {
    local log=$LOGS/$1.log
    shift
    "$@" >"$log" 2>&1 </dev/null || { tail -n 25 "$log" >&2; fail "'$*' failed; the whole output is in $log"; }
}

# packages NAME…: Debian packages, installed when that is allowed, otherwise named.
packages() {
    can_install || fail "missing system packages: $*. Install them (on Debian or Ubuntu: sudo apt-get install $*) and run this again."
    say "installing the system packages $* (apt-get)"
    if [ -z "${APT_UPDATED:-}" ]; then
        quietly apt-update apt-get update
        APT_UPDATED=1
    fi
    quietly "apt-$1" env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "$@"
}

ensure_venv() { # ensure_venv EXTRA: the project and one of its extras in .venv
    command -v python3 >/dev/null || packages python3
    python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
        fail "Python 3.11 or newer is needed; python3 here is $(python3 --version)."
    if ! python3 -c 'import ensurepip, venv' 2>/dev/null; then packages python3-venv; fi
    # One that was left half made, or made where the clone lay before, is made anew.
    if [ "$(cat $VENV/made-in 2>/dev/null)" != "$PWD" ]; then
        say "making a virtual environment in $VENV"
        python3 -m venv --clear $VENV
        pwd >$VENV/made-in
    fi
    local wanted stamp=$VENV/installed-$1
    wanted=$(cat pyproject.toml constraints.txt | sha256sum)
    if [ "$(cat "$stamp" 2>/dev/null)" != "$wanted" ]; then
        say "installing jupyter-agent-skills[$1] into $VENV (a few minutes the first time)"
        quietly "pip-$1" $PYTHON -m pip install --disable-pip-version-check -c constraints.txt -e ".[$1]"
        printf '%s' "$wanted" >"$stamp"
    fi
}

engine_answers() { $PYTHON -c 'import docker; docker.from_env(timeout=5).ping()' 2>/dev/null; }

ensure_engine() {
    engine_answers && return
    [ -z "${DOCKER_HOST:-}" ] || fail "no Docker engine answers at DOCKER_HOST=$DOCKER_HOST."
    can_install || fail "no Docker engine answers. Start it, or let this user reach it (on Debian or Ubuntu: sudo apt-get install docker.io; sudo usermod -aG docker \$USER, then log in again), and run this again. If 'docker context ls' names another engine, set DOCKER_HOST to its address."
    # apparmor: an engine on a kernel that has it starts no container without its parser.
    command -v dockerd >/dev/null || packages docker.io iptables apparmor
    say "no Docker engine answers: starting one"
    if [ -d /run/systemd/system ]; then
        quietly dockerd systemctl start docker
    else
        setsid dockerd >"$LOGS/dockerd.log" 2>&1 </dev/null &
    fi
    for _ in $(seq 60); do
        if engine_answers; then return; fi
        sleep 0.5
    done
    tail -n 15 "$LOGS/dockerd.log" >&2 || true
    fail "the Docker engine did not come up within 30 s; its log is in $LOGS/dockerd.log."
}

has_image() { $PYTHON -c 'import docker, sys; docker.from_env().images.get(sys.argv[1])' "$1" 2>/dev/null; }

can_pull() { $PYTHON -c 'import docker, sys; docker.from_env().images.pull(sys.argv[1])' "$1" 2>/dev/null; }

ensure_image() { # the sandbox image; from Debian's packages where the default base can't be pulled
    local skills="$PYTHON -m jupyter_skills.cli sandbox" base own=jupyter-skills-base:debian
    if $skills status --quiet; then return; fi
    say "building the sandbox image (a minute or two)"
    base=$(sed -n 's/^ARG BASE=//p' jupyter_skills/sandbox/docker/image/Dockerfile)
    if ! has_image "$base" && ! has_image $own && ! can_pull "$base"; then
        say "$base can't be pulled here: making a base image from Debian's packages"
        scripts/base-image $own
    fi
    if has_image "$base"; then own=$base; fi
    $skills build --base "$own"
}

ensure_chromium() { # Debian packages it; on Ubuntu, whose package is a snap, Playwright brings its own
    if command -v chromium >/dev/null; then return; fi
    if (. /etc/os-release && [ "$ID" = ubuntu ]) 2>/dev/null; then
        say "installing Chromium with Playwright"
        quietly chromium $PYTHON -m playwright install --with-deps chromium
    else
        packages chromium
    fi
}

has_postgres() { # Debian keeps its programs off the path
    command -v initdb >/dev/null || compgen -G '/usr/lib/postgresql/*/bin/initdb' >/dev/null
}

ensure_postgres() { # its programs only: tests and benchmarks make clusters of their own
    if has_postgres; then return; fi
    # Debian's package would make a cluster and start it; told not to, for this installation only.
    local unasked=/etc/postgresql-common/createcluster.d/jupyter-skills.conf
    if can_install; then
        mkdir -p "${unasked%/*}"
        echo 'create_main_cluster = false' >"$unasked"
        trap "rm -f $unasked" EXIT
    fi
    packages postgresql
    rm -f "$unasked"
}
