#!/usr/bin/env bash
# Installs what the tests need besides Go, gcc, make, git and Node, unless it is installed: with apt-get, as root, on Debian
# and its relatives. Elsewhere it fails and names what to install.
set -euo pipefail

# One line each: a command or a module of Apache that must be there, the Debian package that brings it, what it is for.
needs='
openssl          openssl          the tests compare signatures with those of openssl dgst
postgres         postgresql       the tests of the store run on PostgreSQL as well
pgbouncer        pgbouncer        the gateway refuses a pooler that keeps no sessions
dockerd          docker.io        the last stage of the image is built and run
docker-compose   docker-compose   docker-compose.yml is checked
clamd            clamav-daemon    documents are scanned by it
systemd-analyze  systemd          the unit for systemd is checked
prometheus       prometheus       alert rules and the dashboard are checked, with promtool, too
apache2          apache2          people sign in at an application served by Apache
nginx            nginx            the gate says whom nginx lets in
chromium         chromium         they do so with a real browser
chromedriver     chromium-driver  the browser is driven by the tests
python3          python3          receivers of docs/receivers.md are run, in Python
php              php-cli          in PHP
ruby             ruby             and in Ruby
mod_auth_openidc.so libapache2-mod-auth-openidc Apache asks our sign-in who they are
'

# Debian keeps the programs of PostgreSQL's server in a folder of their version, off the PATH.
there() {
	command -v "$1" >/dev/null || compgen -G "/usr/lib/postgresql/*/bin/$1" >/dev/null || compgen -G "/usr/sbin/$1" >/dev/null ||
		compgen -G "/usr/lib/apache2/modules/$1" >/dev/null
}

# The modules of Node that the tests use, in the versions of package-lock.json: openid-client signs in, oidc-provider
# issues tokens, axe-core looks for what is not accessible, Redocly lints the OpenAPI documents.
modules() {
	local folder
	folder=$(dirname "$0")/../internal/e2e/testdata/$1
	[[ $folder/node_modules/.package-lock.json -nt $folder/package-lock.json ]] && return
	if ! command -v npm >/dev/null; then
		echo "The tests need npm, which this machine lacks. Install Node with npm and try again." >&2
		exit 1
	fi
	echo "Installing the modules of Node in internal/e2e/testdata/$1"
	npm --prefix "$folder" ci --omit=dev --ignore-scripts --no-audit --no-fund --loglevel=error
}
modules openid-client
modules oidc-provider
modules axe
modules redocly

commands=() packages=()
while read -r command package _; do
	[[ -n $command ]] || continue
	there "$command" || { commands+=("$command"); packages+=("$package"); }
done <<<"$needs"

((${#packages[@]})) || exit 0

if ! command -v apt-get >/dev/null; then
	echo "The tests need ${commands[*]}, which this machine lacks. Install them (Debian calls the packages ${packages[*]}) and try again." >&2
	exit 1
fi
if ((EUID != 0)); then
	echo "The tests need ${commands[*]}, which this machine lacks. Install them and try again: sudo apt-get install ${packages[*]}" >&2
	exit 1
fi

# The tests start their own servers: none is to run because its package was installed.
policy=/usr/sbin/policy-rc.d
if [[ ! -e $policy ]]; then
	printf '#!/bin/sh\nexit 101\n' >"$policy"
	chmod +x "$policy"
	trap 'rm -f "$policy"' EXIT
fi
cluster=/etc/postgresql-common/createcluster.conf
if [[ " ${packages[*]} " == *" postgresql "* && ! -e $cluster ]]; then
	mkdir -p "$(dirname "$cluster")"
	echo "create_main_cluster = false" >"$cluster"
fi

echo "Installing ${packages[*]}"
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
apt-get install -y -qq --no-install-recommends -o Dpkg::Options::=--force-confold "${packages[@]}"
