#!/usr/bin/env bash
# libtenon needs the C and C++ libraries, zlib and zstd, and nothing else that would come with it into every program.
# Usage: check_needed.sh LIBTENON
set -euo pipefail
needed=$(readelf -d "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p')
grep -qx 'libc.so.6' <<<"$needed" || { echo "readelf lists no libc.so.6 for $1" >&2; exit 1; }
more=$(grep -vxE 'lib(c|m|z|zstd|stdc\+\+|gcc_s)\.so\.[0-9]+|ld-linux.*' <<<"$needed" || true)
[ -z "$more" ] || { echo "$1 also needs" $more >&2; exit 1; }
echo "$1 needs" $needed
