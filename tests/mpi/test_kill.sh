#!/usr/bin/env bash
# A few runs killed at random moments; make check-kill does it 200 times.
exec "$(dirname "$0")/kill_at_random.sh" "${KILL_RUNS:-10}"
