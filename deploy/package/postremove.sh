#!/bin/sh
# Says what a purge, or the removal of the last version of an rpm, leaves.
set -e
if { [ "$1" = purge ] || [ "$1" = 0 ]; } && [ -e "$DPKG_ROOT/etc/hiregate/secrets.env" ]; then
	echo "hiregate: /etc/hiregate/secrets.env and /var/lib/hiregate stay. Without the key in that file, neither they nor their" \
		"backups can be read. Delete them yourself once you need neither."
fi
