#!/bin/sh
# Stops the service when the package is removed, not when it is upgraded: dpkg calls with "remove", rpm with the number of
# versions that stay.
set -e
if [ "$1" = remove ] || [ "$1" = 0 ]; then
	if [ -d /run/systemd/system ]; then
		systemctl disable --now hiregate.service
	fi
fi
