#!/bin/sh
# Makes the user of the service and the file of its secrets. The service is not started: its Caddyfile needs your names first.
set -e
systemd-sysusers ${DPKG_ROOT:+--root="$DPKG_ROOT"} hiregate.conf
# Not a file of the package: purging that would delete secrets that nothing else holds.
secrets="$DPKG_ROOT/etc/hiregate/secrets.env"
if [ ! -e "$secrets" ]; then
	(
		umask 077
		printf '%s\n' '# The secrets that /etc/hiregate/Caddyfile names as {env.…}: NAME=value, a line each. systemd reads this file as root.' \
			'# It stays when the package is removed or purged: it may hold the key to everything sealed.' >"$secrets"
	)
fi
if [ -z "$DPKG_ROOT" ] && [ -d /run/systemd/system ]; then
	systemctl daemon-reload
	systemctl try-restart hiregate.service
fi
