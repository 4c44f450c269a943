#!/bin/sh
# run.sh [WHAT]: checks the models; needs spin 6.5 and gcc.
# WHAT: fast (the default), slow, all, or the name of a line; core/ or recovery/ before it leaves out the other model.
# The exit status is 1 if a line of MODEL/lines.txt does not give what stands there, 2 if there is no such line.
# JOBS lines at a time (2), each with LIMIT seconds (1800) and MEM MB (5000), a hash table of 2^HASH (24).
# build/MODEL/NAME is left with what spin and the search said, and with the counterexample.
cd "$(dirname "$0")" || exit 2

search() { # search MODE FLAGS...: in the directory of the line
	case $1 in
	safe)  cc="-DSAFETY -DCOLLAPSE" run="-w${HASH:-24}" ;;
	short) cc="-DSAFETY -DCOLLAPSE -DBFS" run="-w${HASH:-24}" ;;
	live)  cc="-DNP -DCOLLAPSE" run="-l -w${HASH:-24}" ;;
	bits)  cc="-DSAFETY -DBITSTATE" run="-k3 -w${BITS:-35}" ;;
	*)     return 1 ;;
	esac
	shift
	spin -a "$@" ./*.pml >spin.out 2>&1 || return 1
	# shellcheck disable=SC2086
	gcc -O2 -w -DNOFAIR -DNOREDUCE -DVECTORSZ=1024 -DMEMLIM="${MEM:-5000}" $cc -o pan pan.c || return 1
	# shellcheck disable=SC2086
	timeout -s INT "${LIMIT:-1800}" ./pan $run -m200000 >out 2>&1
}

verdict() { # verdict MODEL: ok, a name of kinds.txt, or why there is neither
	w=$(sed -n 's/^pan:[0-9]*: //p' out | head -1)
	if [ -n "$w" ]; then
		k=$(grep -v '^#' "../../../$1/kinds.txt" | while read -r kind text; do
			case $w in *"$text"*) echo "$kind"; break ;; esac
		done)
		echo "${k:-unknown}"
	elif grep -qE 'Search not completed|max search depth too small' out; then echo unfinished
	elif grep -q 'errors: 0' out; then echo ok
	else echo none
	fi
}

one() { # one MODEL NAME MODE EXPECTED FLAGS...
	model=$1 name=$2 mode=$3 want=$4; shift 4
	d=build/$model/$name; rm -rf "$d"; mkdir -p "$d"; cp "$model"/*.pml "$d"; cd "$d" || exit 1
	echo "$@" >flags; : >out
	search "$mode" "$@"
	got=$(verdict "$model")
	[ "$got" = "$want" ] && say=pass || say=FAIL
	printf '%s %-9s %-20s want %-6s got %-10s %9s states %7s s\n' $say "$model" "$name" "$want" "$got" \
		"$(sed -nE 's/^ *([0-9.e+]+) states, stored.*/\1/p' out | head -1)" \
		"$(sed -nE 's/.*elapsed time ([0-9.e+]+) .*/\1/p' out | head -1)"
	rm -f pan pan.[bcmhpt]
	[ $say = pass ]
}

chosen() { # chosen WHAT: the lines' arguments for one
	for m in core recovery; do
		case $1 in */*) [ "${1%%/*}" = $m ] || continue ;; esac
		grep -vE '^(#|$)' $m/lines.txt | while read -r group name rest; do
			case ${1##*/} in all|"$group"|"$name") echo "one $m $name $rest" ;; esac
		done
	done
}

if [ "$1" = one ]; then shift; one "$@"; exit; fi
lines=$(chosen "${1:-fast}")
[ -n "$lines" ] || { echo "run.sh: no line is called $1; see core/lines.txt and recovery/lines.txt" >&2; exit 2; }
echo "$lines" | xargs -P "${JOBS:-2}" -L1 ./run.sh || exit 1
