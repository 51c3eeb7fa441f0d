#!/usr/bin/env bash
# Usage: gotest.sh PACKAGES GO-TEST-FLAGS…
# Runs the tests, and each that failed once more: a busy machine makes a test come too late now and then. A package that
# does not build, has a data race or ended before its tests did fails the run, because its other tests may not have run.
# go vet is make lint's: it would look through all dependencies a second time, as they are with the race detector.
set -euo pipefail

packages=$1
shift
gotestsum=$(dirname "$(realpath "$0")")/../bin/tools/gotestsum
log=$(mktemp)
trap 'rm -f "$log"' EXIT

"$gotestsum" --format pkgname --hide-summary skipped --rerun-fails=1 --rerun-fails-max-failures 10 --rerun-fails-run-root-test \
	--rerun-fails-abort-on-data-race --packages="$packages" -- -vet=off "$@" | tee "$log"

# gotestsum runs a test again whose process exited without a panic, and leaves out the tests after it.
if unfinished=$(grep '^=== FAIL: .* (unknown)$' "$log"); then
	printf 'These tests ended their process; the other tests of their package did not run:\n%s\n' "$unfinished"
	exit 1
fi
