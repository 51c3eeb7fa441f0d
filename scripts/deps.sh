#!/usr/bin/env bash
# Makes sure that what the tests need besides Go, gcc, make, git and Node is there. Does nothing where it is; installs it with
# apt-get as root on Debian and its relatives; fails elsewhere and names what to install.
set -euo pipefail

# One line each: a command that must be on the PATH, the Debian package that brings it, what it is for.
needs='
openssl   openssl   the tests compare signatures with those of openssl dgst
'

commands=() packages=()
while read -r command package _; do
	[[ -n $command ]] || continue
	command -v "$command" >/dev/null || { commands+=("$command"); packages+=("$package"); }
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
echo "Installing ${packages[*]}"
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
apt-get install -y -qq --no-install-recommends "${packages[@]}"
