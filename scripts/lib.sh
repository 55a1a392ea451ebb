# Steps shared by the two commands of the README. Sourced, never run.
#
# Every step first looks whether there is anything to do, so that a second run is quick, and says in
# one line what it does. What it may not install it names, with the command that would.

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

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
    [ -x $PYTHON ] || { say "making a virtual environment in $VENV"; python3 -m venv $VENV; }
    local wanted stamp=$VENV/installed-$1
    wanted=$(cat pyproject.toml constraints.txt | sha256sum; pwd)
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
    can_install || fail "no Docker engine answers. Start it, or let this user reach it (on Debian or Ubuntu: sudo apt-get install docker.io; sudo usermod -aG docker \$USER), and run this again."
    command -v dockerd >/dev/null || packages docker.io iptables
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

ensure_image() { # the sandbox image; from Debian's packages where the default base can't be pulled
    local skills="$VENV/bin/jupyter-skills sandbox"
    if $skills status --quiet; then return; fi
    if $skills build; then return; fi
    say "the default base image can't be had here: making one from Debian's packages"
    scripts/base-image jupyter-skills-base:debian
    $skills build --base jupyter-skills-base:debian
}

ensure_chromium() { command -v chromium >/dev/null || packages chromium; }
