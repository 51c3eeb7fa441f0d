#!/bin/sh
# Makes the user of the service. The service is not started: its Caddyfile needs your names first.
set -e
systemd-sysusers hiregate.conf
if [ -d /run/systemd/system ]; then
	systemctl daemon-reload
	systemctl try-restart hiregate.service
fi
