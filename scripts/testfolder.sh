#!/bin/sh
# Prints the folder for the files of tests. Tests sync databases all the time: a folder in memory keeps a busy disk from
# making them late. It needs room, and must allow programs to run from it. TMPDIR takes precedence.
set -eu
memory=/dev/shm room=6291456 # KiB; the tests took some 2 GiB

usual=${TMPDIR:-/tmp}
if [ -n "${TMPDIR:-}" ] || ! probe=$(mktemp "$memory/hiregate.XXXXXX" 2>/dev/null); then
	echo "$usual"
	exit
fi
trap 'rm -f "$probe"' EXIT
printf '#!/bin/sh\n' >"$probe"
chmod +x "$probe"
if "$probe" 2>/dev/null && [ "$(df -Pk "$memory" | awk 'NR == 2 { print $4 }')" -ge $room ]; then
	echo "$memory"
else
	echo "$usual"
fi
