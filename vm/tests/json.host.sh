#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# What probeload says with -j is what docs/json.md says it says; see vm/lib/json_page.py.
set -euo pipefail

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
"$top/vm/run" --kernel "$KERNEL" --timeout 400 --add "$top/build/tests/handlers" \
    --add "$top/vm/guest/json.sh" -- sh ./json.sh |
    python3 "$top/vm/lib/json_page.py" "$top/docs/json.md"
