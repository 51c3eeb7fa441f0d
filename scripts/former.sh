#!/usr/bin/env bash
# Usage: former.sh COMMIT OUTPUT
# Builds the gateway of an earlier commit from the history of this clone. What did not change since is in Go's cache.
set -euo pipefail

commit=$1 out=$PWD/$2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
git archive "$commit" | tar -x -C "$folder"
cd "$folder"
scripts/build.sh "the gateway of $commit" bin/hiregate cmd/hiregate "-X github.com/hiregate/hiregate/internal/version.Version=$commit"
mkdir -p "$(dirname "$out")"
mv bin/hiregate "$out"
