#!/usr/bin/env bash
# libtenon exports nothing of LLVM, so that an application may link another LLVM beside it.
# Usage: check_symbols.sh LIBTENON
set -euo pipefail
exported=$(nm -D --defined-only "$1" | c++filt)
ours=$(grep -c 'tenon::' <<<"$exported" || true)
theirs=$(grep -E '^[0-9a-f]* [A-Za-z] (vtable for |typeinfo (name )?for |guard variable for )?(llvm::|LLVM[A-Z])' <<<"$exported" || true)
[ "$ours" -gt 0 ] || { echo "no symbol of namespace tenon is exported from $1" >&2; exit 1; }
if [ -n "$theirs" ]; then
  echo "$(wc -l <<<"$theirs") symbols of LLVM are exported, first of all:" >&2
  head -5 <<<"$theirs" >&2
  exit 1
fi
echo "$ours symbols of ours are exported, none of LLVM's"
