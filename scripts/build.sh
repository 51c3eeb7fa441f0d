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
cd "$folder"

# Without C: the binary is static, and is built for any system on any other.
export CGO_ENABLED=0

# -trimpath: the same wherever the clone lies, as make release builds it.
# go build -v prints the import path of each package it compiles; everything else is an error message.
go build -v -trimpath -buildvcs=false -ldflags "$link" -o "$out" "$@" . 2>&1 | awk -v tty="$tty" '
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
