#!/bin/sh
# trace.sh MODEL/NAME: the counterexample that run.sh found. For each step: process, line, what is tried there, what changed.
cd "$(dirname "$0")/build/$1" || exit 1
m=$(echo ./*.pml)
spin -t -p -g -w $(cat flags) "$m" 2>/dev/null | awk -v model="$m" '
BEGIN { while ((getline l < model) > 0) src[++n]=l }
function flush() { if (s!="") print s " " c; c="" }
/proc +[0-9]+ \([A-Z].*\[/ { match($0,/^ *[0-9]+/); if (substr($0,RSTART,RLENGTH)+0==step) next; flush(); step=substr($0,RSTART,RLENGTH)+0; match($0,/proc +[0-9]+/); pid=substr($0,RSTART+4,RLENGTH-4)+0
  match($0,/\([A-Za-z]+:/); who=substr($0,RSTART+1,RLENGTH-2); match($0,/pml:[0-9]+/); at=substr($0,RSTART+4,RLENGTH-4)
  t=src[at]; gsub(/^[ \t]+|[ \t]*\\?$/,"",t); sub(/^:: d_step \{ /,"",t); s=sprintf("%-7s %d  %-4s %-60.60s |", who, pid, at, t); next }
/^\t\t[A-Za-z]+(\[[0-9]\])? = / { if ($1!~/^(k|m|x|px|mx)$/ && v[$1]!=$3) { if (($1 in v) || $3!="0") c=c " " $1 "=" $3; v[$1]=$3 } }
END { flush() }'
