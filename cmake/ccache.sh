#!/bin/sh
# ccache for every compilation but that of a precompiled header. A file that includes one is known by the text of the headers in it (.sum), so
# that the objects of one build folder serve another. Called as ccache.sh CCACHE COMPILER ARGUMENT...
ccache=$1
shift
for argument; do
  case $argument in
    *.gch)
      "$@" || exit
      [ ! -f "$argument.d" ] || sed 's/^[^:]*: *//; s/\\$//' "$argument.d" | xargs cat | sha256sum >"$argument.sum"
      exit ;;
  esac
done
export CCACHE_BASEDIR="${CCACHE_BASEDIR:-$(realpath "$(dirname "$0")/..")}" CCACHE_PCH_EXTSUM=1 CCACHE_SLOPPINESS=pch_defines,time_macros
exec "$ccache" "$@"
