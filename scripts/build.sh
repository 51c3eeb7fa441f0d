#!/usr/bin/env bash
# Usage: build.sh WHAT OUTPUT FOLDER LINKER-FLAGS GO-BUILD-ARGUMENTS…
# Builds the program in the folder and counts the packages while it does, because a first build takes minutes.
set -euo pipefail

what=$1 out=$2 folder=$3 link=$4
shift 4
echo "Building $out ($what)"
echo "  the first time this takes minutes, afterwards seconds"

began=$SECONDS
tty=0
[[ -t 1 ]] && tty=1
mkdir -p "$(dirname "$out")"
out=$PWD/$out
tags=$(<scripts/tags)
cflags=$(<scripts/cflags)
cd "$folder"

# The gateway has SQLite in it, which is C. scripts/cflags are Go's own flags for it, let it sync with fdatasync, which SQLite's own
# build finds out by itself, and leave out what nobody here asks it for and each statement would pay for. The binary is static all
# the same, where there is a static C library: scripts/tags leaves out what would ask for shared ones as it runs.
export CGO_ENABLED=0
if [[ $folder == cmd/hiregate ]]; then
	CGO_ENABLED=1
	export CGO_CFLAGS=$cflags
	cc=$(go env CC)
	if ! command -v "${cc%% *}" >/dev/null; then
		echo "  the gateway needs a C compiler: install gcc" >&2
		exit 1
	fi
	if echo 'int main(void) { return 0; }' | $cc -static -x c -o /dev/null - 2>/dev/null; then
		link="$link -linkmode external -extldflags -static"
	else
		echo "  $cc finds no static C library: the binary will need the shared one of this machine"
	fi
fi

# go build -v prints the import path of each package it compiles; everything else is an error message.
go build -v -buildvcs=false -tags "$tags" -ldflags "$link" -o "$out" "$@" . 2>&1 | awk -v tty="$tty" '
	/^[^ :#]+$/ {
		n++
		if (tty) { printf "\r  %d packages compiled", n; open = 1; fflush() }
		else if (n % 200 == 0) { printf "  %d packages compiled\n", n; fflush() }
		next
	}
	{ if (open) { print ""; open = 0 } print; fflush() }
	END { if (open) print "" }'

touch "$out" # go build leaves an unchanged binary alone, and make would ask for it again and again
echo "  done in $((SECONDS - began)) s"
