#!/usr/bin/env bash
# Usage: openapi.sh FOLDER
# Checks openapi.json and openapi-receiver.json, which are in the folder, with what their users have: Redocly lints both, and
# oapi-codegen makes a client of the first, in client/client.go, and the types of the second, in receiver/receiver.go.
set -euo pipefail

folder=$(realpath "$1")
root=$(dirname "$(realpath "$0")")/..
redocly=$root/internal/e2e/testdata/redocly/node_modules/.bin/redocly
if [[ ! -x $redocly ]]; then
	echo "Redocly is not installed: run make deps" >&2
	exit 1
fi

REDOCLY_TELEMETRY=off REDOCLY_SUPPRESS_UPDATE_NOTICE=true "$redocly" lint --format summary "$folder"/openapi.json "$folder"/openapi-receiver.json

mkdir -p "$folder/client" "$folder/receiver"
generate() { go -C "$root/tools" tool oapi-codegen "$@"; }
generate -generate types,client -package client -o "$folder/client/client.go" "$folder/openapi.json"
# It takes what only webhooks refer to for unused.
cat >"$folder/receiver.yaml" <<-end
	package: receiver
	generate: {models: true}
	output-options: {skip-prune: true}
	output: $folder/receiver/receiver.go
end
generate -config "$folder/receiver.yaml" "$folder/openapi-receiver.json"
