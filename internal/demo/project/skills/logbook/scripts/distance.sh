#!/bin/sh
# Adds up the distances of the log files in a directory: sh distance.sh DIRECTORY
set -eu
cat "${1:?usage: distance.sh DIRECTORY}"/day-*.md |
	awk '/^Distance:/ { days++; miles += $2 } END { printf "%d nmi in %d days\n", miles, days }'
