/*
 * twg.pml - the core of twg for ONE stream and TWO hosts of one consumer group.
 *
 *   store variant 1 (default)    transactional, PostgreSQL-like
 *   store variant 2 (-DPARQUET)  the directory as a log of linked files
 *
 * The default build is the design with every amended rule. Switches:
 *   OLD_*  one rule as it was worded before the amendment (a counterexample exists)
 *   MUT_*  a deliberate error: the model must fail
 *   LATEST, EARLIEST  records come all the time, and a stream without a position begins where the source says
 *   NAMED  named partitions: nobody shares them out, and the store alone keeps the position
 *   RET, RESTORE, REJECT, HANG, POWER   fault kinds (../README.md); F bounds all faults of a run together
 *   NOLOST  a zombie is not told while another host owns;  CHECKALARM  an accepted void names a real loss;
 *   SOFT  without the assertions of INV6, INV8 and of a fresh Start, to see whether anything is lost;  LEN2  smaller
 * Every run has at most F faults, so "after a fault lifts, the rest is delivered" (INV4) is:
 *   every terminal state satisfies FIN (checked by Env's timeout), and no cycle exists (mode "live").
 */
#ifndef F
#define F 2
#endif
#ifndef FIRST0
#define FIRST0 0                   /* 1: host 0 is the first owner. The hosts are alike, so nothing is left out */
#endif
#define N     4                    /* positions 0..3 */
#define ALL   15
#ifndef MARK
#define MARK  2                    /* set of positions that are never delivered: {1} */
#endif
#define DELIV (ALL & (ALL ^ MARK))
#ifdef REJECT
#define REJ   4                    /* the gating sink rejects position 2 for good (Q8) */
#else
#define REJ   0
#endif
#define NONE  2

/* sets of positions are bit masks; HOLE is the lowest position outside a set */
#define UPTO(a)    ((1<<(a))-1)
#define SPAN(a,b)  (UPTO(b) & (ALL ^ UPTO(a)))
#define HOLE(m)    (((m)&1)==0 -> 0 : (((m)&2)==0 -> 1 : (((m)&4)==0 -> 2 : (((m)&8)==0 -> 3 : 4))))
#define MIN(a,b)   ((a)<(b) -> (a) : (b))
#define MINUS(a,b) ((a) & (31 ^ (b)))

/* ---------- the start of a stream without a position ---------- */
#if defined(LATEST) || defined(EARLIEST)
#define DECIDE
#define TOP    16                  /* the void [2^48-1, 2^48): a start was decided at 0 */
#define NOTYET 9
byte hi = 0;                       /* end of the log: records come all the time */
byte begun = NOTYET;               /* ghost: where the first run of all began */
bit  hasc = 0, sawc[2];            /* the broker has a commit; as Assigned told it */
#define HI hi
#define BEFORE ((begun==NOTYET -> ALL : UPTO(begun)) | held | TOP)
#ifdef MUT_NOEPOCH
#define COUNTS(h) true
#else
#define COUNTS(h) (ep[h]==epoch)   /* a run that is fenced delivers nothing */
#endif
#define BEGIN(h) if :: begun==NOTYET && COUNTS(h) -> begun=pos[h] :: else fi
#else
#define HI     N
#define BEFORE 0
#define BEGIN(h) skip
#endif

/* ---------- broker ---------- */
byte committed = 0;                /* committed offset */
byte owner = NONE;                 /* whose generation is valid: only its commits are accepted */
byte lo = 0;                       /* log start; retention raises it */
byte flt = 0;                      /* faults used */

/* ---------- store: what a reader sees ---------- */
byte held = 0, vd = 0, epoch = 0;  /* rows are in the same transaction or file as held */
byte eph = NONE;                   /* ghost: who acquired the newest epoch (INV6) */
byte audit = 0;                    /* durable audit trail (REJECT) */
bit  lead = 0;                     /* ghost: the store was restored and no Start has compared yet */
#ifdef PARQUET
byte dheld = 0, dvd = 0;           /* what survives a power cut: covered by a directory fsync */
#define U 4
byte un = 0; byte usp[U], uvd[U];  /* links without a directory fsync, in order of n */
#ifdef MUT_NOFSYNC
byte torn = 0;                     /* content that was never fsynced */
#endif
#else
#define dheld held
#define dvd   vd
#endif
#ifdef RESTORE
byte sheld, svd, sepoch; bit snap = 0, restored = 0;
byte gep = 0;                      /* epochs ever issued */
#endif

/* ---------- writes: 2h and 2h+1 are the two slots of h's gate (the slot is the seq of a session);
 * 4 and 5 are writes that outlived their run or their session ---------- */
#define NT 6
mtype = { FREE, WANT, SENT, OPEN, HUNG, LINKED, DONE, FENCED };
mtype tst[NT] = FREE;
byte tsp[NT], tep[NT];             /* span, epoch */
byte tvo[NT];                      /* a void, no rows: 1 by a gap, 2 what a start skips */
byte th[2], tsl[2]; bit dead[2];   /* of 4 and 5: host, slot, session is over (else only the run) */
#define OWNER_OF(i) ((i)<2 -> 0 : ((i)<4 -> 1 : th[((i)<4 -> 0 : (i)-4)]))

/* ---------- hosts ---------- */
mtype = { IDLE, LOOK, ACQ, ACQSYNC, READ, RESOLVE, START, RUN, REVOKE, GAP, PROVE };
mtype st[2] = IDLE;
byte ep[2], seen[2];               /* epoch held; committed position as Assigned told it */
byte pos[2], done[2];              /* source position; gate: known durable */
#ifdef NAMED
bit  over[2];                      /* ghost: another had acquired when the host turned to its stream again */
#endif
#ifdef GAPACQ
byte gap[2];                       /* where the log begins, as the gap said */
#endif
bit  chk[2];                       /* the store's connection was lost: coverage not compared since */
byte rej[2];                       /* 1: rejected, audit not written; 2: audit durable, coverage not */

hidden byte k, m, x;

#define FRONT(h)  MIN(HOLE(done[h]), pos[h])
#define ACTIVE(h) (st[h]==RUN || st[h]==REVOKE || st[h]==GAP || st[h]==START)
#define INV1  (lead || committed <= HOLE(dheld|dvd))
#define INVV  (MINUS(vd, UPTO(lo)|BEFORE)==0)  /* a void claims only what retention removed, or the start skipped */
#define FIN   (committed==N && MINUS(ALL, dheld|dvd)==0 && MINUS(REJ & dheld, audit)==0 && INVV)

#ifdef NAMED
#define OWNS(h) true               /* nobody says otherwise, and a commit proves nothing */
#define UNLEAD(h) (!chk[0] && !chk[1])
#else
#define OWNS(h) (owner==h)
#define UNLEAD(h) OWNS(h)
#endif
/* the broker's position, as an assignment tells it */
inline see(h) {
#ifndef NAMED
	seen[h]=committed;
#ifdef DECIDE
	sawc[h]=hasc;
#endif
#endif
	skip
}

inline tfree(i) { tst[i]=FREE; tsp[i]=0; tep[i]=0; tvo[i]=0; if :: i>=4 -> th[i-4]=0; tsl[i-4]=0; dead[i-4]=0 :: else fi }

#ifdef MUT_OLDSESS
#define MUT_OLD true
#else
#define MUT_OLD false
#endif
#ifdef MUT_NOEPOCH
#define MUT_EP true
#define CURRENT_EP(e) true
#else
#ifdef RESTORE
#define MUT_EP true                /* an old epoch may become current again */
#else
#define MUT_EP false
#endif
#define CURRENT_EP(e) ((e)==epoch)
#endif
#define CURRENT(i) CURRENT_EP(tep[i])

/* write i of h loses its run (d=0) or its session (d=1): its answer will be dropped, its effect may come */
inline orphan(i, h, d) {
	if
	:: (tst[i]==SENT || tst[i]==OPEN || tst[i]==LINKED || (MUT_OLD && d && tst[i]==DONE)) &&
	   (tep[i]==epoch || tst[i]!=SENT || MUT_EP) && (tst[4]==FREE || tst[5]==FREE) ->
		m=(tst[4]==FREE -> 4 : 5);
		tst[m]=tst[i]; tsp[m]=tsp[i]; tep[m]=tep[i]; tvo[m]=tvo[i]; th[m-4]=h; tsl[m-4]=(i)&1; dead[m-4]=d; m=0
	:: else                        /* done, or fenced for certain */
	fi
}
/* the gate forgets a run */
inline forget(h) {
	orphan(2*h, h, 0); tfree(2*h); orphan(2*h+1, h, 0); tfree(2*h+1);
	pos[h]=0; done[h]=0; rej[h]=0
}
inline killed(h) {                 /* sink session over: older writes of h, too, lose it */
	if :: tst[4]!=FREE && th[0]==h -> dead[0]=1 :: else fi;
	if :: tst[5]!=FREE && th[1]==h -> dead[1]=1 :: else fi
}
inline idle(h) {
	forget(h); st[h]=IDLE; ep[h]=0; seen[h]=0; chk[h]=0;
#ifdef DECIDE
	sawc[h]=0;
#endif
#ifdef NAMED
	over[h]=0;
#endif
#ifdef GAPACQ
	gap[h]=0;
#endif
	skip
}
/* a host that has had the stream acquires it anew. Without a group it looks first whether another has it */
#ifdef NAMED
#define ANEW(h) over[h]=(ep[h]!=epoch); st[h]=LOOK
#else
#define ANEW(h) st[h]=ACQ
#endif
#ifdef DECIDE
/* whether the start's void was recorded is not known: coverage is read and the start is decided again */
inline unsure(h) { tfree(2*h); pos[h]=0; done[h]=0; st[h]=READ }
#endif
/* a new sink session: everything unanswered is sent again */
inline newsession(h) {
	killed(h);
	orphan(2*h, h, 1);   if :: tst[2*h]!=FREE   -> tst[2*h]=WANT   :: else fi;
	orphan(2*h+1, h, 1); if :: tst[2*h+1]!=FREE -> tst[2*h+1]=WANT :: else fi;
#ifdef DECIDE
	if :: st[h]==START -> unsure(h) :: else fi
#endif
}

/* a new epoch for h. Only equality with the newest counts, so without RESTORE older ones are renumbered 0 */
inline bump(h) {
#ifdef RESTORE
#ifdef OLD_TOKEN
	epoch=epoch+1;
#else
	gep=gep+1; epoch=gep;
#endif
#else
	epoch=1; ep[0]=0; ep[1]=0;
	k=0; do :: k<NT -> tep[k]=0; k++ :: else -> break od; k=0;
#ifndef MUT_NOEPOCH
	if :: tst[4]==SENT -> tfree(4) :: else fi; if :: tst[5]==SENT -> tfree(5) :: else fi;
#endif
#endif
	if :: h!=NONE -> ep[h]=epoch :: else fi; eph=h
}

#ifdef PARQUET
inline dirsync() {
	dheld=held; dvd=vd;
	k=0; do :: k<un -> usp[k]=0; uvd[k]=0; k++ :: else -> break od; k=0; un=0
}
/* link to the next n. Reading all below n and linking is one atomic step: link fails if a commit came between */
inline link(s, v) {
#ifndef OLD_CHAIN
	dirsync();                     /* n is linked only after a directory fsync that covers n-1 */
#else
	if :: un==U -> dirsync() :: else fi;
#endif
	assert((s & held)==0);         /* INV7: no position visible twice */
	usp[un]=s; uvd[un]=v; un++; held=held|s; vd=vd|v;
#ifdef MUT_NOFSYNC
	torn=torn|s
#endif
}
#endif

proctype Host(byte h)
{
end:
	do
	/* --- Assigned --- */
	:: d_step { st[h]==IDLE && owner==h -> see(h);
#ifdef MUT_COVFIRST
		done[h]=held|vd;           /* coverage read before the epoch is acquired */
#endif
		st[h]=ACQ }

#ifdef NAMED
	/* --- nothing is recorded under the old epoch: if that is fenced, another has the stream, and the host halts --- */
	:: d_step { st[h]==LOOK ->
#ifdef OLD_LOOK
		assert(!over[h]); over[h]=0; st[h]=ACQ
#else
		if :: CURRENT_EP(ep[h]) -> assert(!over[h]); st[h]=ACQ :: else -> idle(h) fi
#endif
	   }
#endif

	/* --- Acquire --- */
#ifdef PARQUET
	:: d_step { st[h]==ACQ -> link(0,0); bump(h);
#ifdef MUT_NOACQSYNC
		st[h]=READ
#else
		st[h]=ACQSYNC
#endif
	   }
	:: d_step { st[h]==ACQSYNC -> dirsync(); st[h]=READ }
#else
	:: d_step { st[h]==ACQ -> bump(h);
		/* backends of older epochs are terminated */
		k=0; do
		:: k<4 -> if :: tst[k]==OPEN && tep[k]!=epoch -> tst[k]=WANT :: else fi; k++
		:: k==4 || k==5 -> if :: (tst[k]==OPEN||tst[k]==HUNG) && tep[k]!=epoch -> tfree(k) :: else fi; k++
		:: else -> break
		od; k=0;
		st[h]=READ }
#endif

	/* --- read coverage, decide, Start --- */
	:: d_step { st[h]==READ ->
		x=held|vd;
#ifdef MUT_COVFIRST
#ifndef SOFT
		assert(done[h]==x);        /* Start knows all that the store holds */
#endif
		x=done[h];
#endif
#ifdef PARQUET
#ifndef OLD_READSYNC
		dirsync();                 /* after the footers were read: acquiring's own fsync is not enough */
#endif
#ifndef SOFT
		assert(MINUS(x, dheld|dvd)==0);  /* INV8: coverage claims only what is durable */
#endif
#endif
		forget(h); chk[h]=0; done[h]=x; x=HOLE(done[h]);
		if
		:: seen[h]>x && !OWNS(h) -> idle(h)            /* the rewinding commit is refused: Lost */
		:: else ->
			if
			:: seen[h]>x ->
#ifndef RESTORE
				assert(false);     /* the broker is ahead, but nothing was restored */
#endif
				committed=x
			:: else
			fi;
			if :: UNLEAD(h) -> lead=0 :: else fi;
#ifdef NAMED
			committed=MIN(committed,x);    /* nobody keeps it; after a restore the source is told anew */
#endif
#ifdef MUT_MAX
			pos[h]=(done[h]&8 -> 4 : (done[h]&4 -> 3 : (done[h]&2 -> 2 : (done[h]&1 -> 1 : 0))));
			done[h]=UPTO(pos[h]);
#else
#ifdef OLD_START
			pos[h]=MIN(seen[h],x);
#else
			pos[h]=x;
#endif
#endif
			seen[h]=0; st[h]=RUN;
#ifdef DECIDE
			if :: done[h]==0 && !sawc[h] -> st[h]=RESOLVE :: else -> BEGIN(h) fi;
#endif
#ifdef GAPACQ
			x=(gap[h]>pos[h] -> MINUS(SPAN(pos[h],gap[h]), done[h]) : 0); gap[h]=0;
			if :: st[h]==RUN && x!=0 -> tst[2*h]=WANT; tvo[2*h]=1; tsp[2*h]=x; st[h]=GAP :: else fi;
#endif
			skip
		fi; x=0 }

	/* --- no position anywhere: the source is asked, and what the answer skips is durable before Start --- */
#ifdef DECIDE
	:: d_step { st[h]==RESOLVE ->
#ifdef EARLIEST
		pos[h]=lo;
#else
		pos[h]=hi;
#endif
		x=UPTO(pos[h]);
#ifdef OLD_STARTVOID
		done[h]=x; x=0;            /* Start at once */
#endif
#if !defined(OLD_STARTVOID) && !defined(OLD_DECIDED)
		if :: x==0 -> x=TOP :: else fi;
#endif
		if
		:: x==0 -> st[h]=RUN; BEGIN(h)
		:: else -> tst[2*h]=WANT; tvo[2*h]=2; tsp[2*h]=x; st[h]=START
		fi; x=0 }
#endif

	/* --- the source delivers the next span, of one or two positions; it is sent at once --- */
#ifdef LEN2                        /* spans of two positions, but for the last (smaller state space) */
#define LEN(n) (n==2 || pos[h]+1==HI)
#else
#define LEN(n) true
#endif
#define POLL(n) \
	:: d_step { st[h]==RUN && LEN(n) && pos[h]+n<=HI && pos[h]>=lo && (tst[2*h]==FREE || tst[2*h+1]==FREE) -> \
		x=MINUS(SPAN(pos[h],pos[h]+n), done[h]); pos[h]=pos[h]+n; \
		if \
		:: x!=0 -> m=(tst[2*h]==FREE -> 2*h : 2*h+1); tst[m]=WANT; tsp[m]=x; m=0 \
		:: else                      /* raw holds all of it */ \
		fi; x=0 }
	POLL(1)
	POLL(2)

	/* --- Gap(wanted, available): what is in flight is settled, a void is recorded for what raw lacks, a new Start --- */
#ifdef OLD_GAP                     /* the run ends at once; the void is all of [wanted, available) */
	:: d_step { st[h]==RUN && pos[h]<lo ->
		x=SPAN(pos[h],lo);
		/* records that the host still has, and that the log no longer has, are not thrown away */
#ifndef SOFT
		assert(owner!=h || MINUS((tsp[2*h]|tsp[2*h+1]) & UPTO(lo) & DELIV, held)==0);
#endif
#elif defined(GAPACQ)              /* a new epoch first; the void follows under it */
	:: d_step { st[h]==RUN && pos[h]<lo && tst[2*h]==FREE && tst[2*h+1]==FREE && rej[h]==0 ->
		forget(h); see(h); gap[h]=lo; ANEW(h) }
#else
	:: d_step { st[h]==RUN && pos[h]<lo && tst[2*h]==FREE && tst[2*h+1]==FREE && rej[h]==0 ->
		x=MINUS(SPAN(pos[h],lo), done[h]);
#endif
#ifndef GAPACQ
		forget(h);
		if
		:: x==0 -> see(h); st[h]=READ
		:: else -> tst[2*h]=WANT; tvo[2*h]=1; tsp[2*h]=x; st[h]=GAP
		fi; x=0 }
#endif

	/* --- send a slot to the sink, again or for the first time --- */
#ifdef OLD_RECHECK
#define MAYSEND(h) ACTIVE(h)
#else
#define MAYSEND(h) (ACTIVE(h) && !chk[h])
#endif
#if defined(OLD_TERM) || !defined(HANG)
#define TERM(h) skip
#else   /* the connections of a dead session, idle ones too, are terminated before its work is sent again */
#define TERM(h) \
	if :: tst[4]!=FREE && tst[4]!=DONE && th[0]==h && dead[0] -> tfree(4) :: else fi; \
	if :: tst[5]!=FREE && tst[5]!=DONE && th[1]==h && dead[1] -> tfree(5) :: else fi
#endif
#ifdef MUT_ONSEND
#define ONSEND(h,i) done[h]=done[h]|tsp[i]
#else
#define ONSEND(h,i) skip
#endif
#define SEND(i) \
	:: d_step { MAYSEND(h) && tst[i]==WANT -> TERM(h); tst[i]=SENT; tep[i]=ep[h]; ONSEND(h,i) }
	SEND(2*h)
	SEND(2*h+1)

	/* --- receipts, in any order --- */
#define RECEIPT(i) \
	:: d_step { tst[i]==DONE && ACTIVE(h) -> \
		if \
		:: tvo[i]==1 -> tfree(i); see(h); st[h]=READ \
		:: tvo[i]==2 -> done[h]=done[h]|tsp[i]; tfree(i); st[h]=RUN; BEGIN(h) \
		:: else -> done[h]=done[h]|MINUS(tsp[i],REJ); \
			if :: (tsp[i] & REJ)!=0 -> rej[h]=1 :: else fi; tfree(i) \
		fi } \
	:: d_step { tst[i]==FENCED && ACTIVE(h) -> forget(h); st[h]=PROVE }
	RECEIPT(2*h)
	RECEIPT(2*h+1)
#ifdef MUT_OLDSESS     /* the receipt of a dead session is taken for the same seq of this one */
#define OLDRECEIPT(i) \
	:: d_step { tst[i]==DONE && th[i-4]==h && ACTIVE(h) -> \
		x=2*h+tsl[i-4]; if :: tst[x]!=FREE && !tvo[x] -> done[h]=done[h]|tsp[x]; tfree(x) :: else fi; tfree(i); x=0 }
	OLDRECEIPT(4)
	OLDRECEIPT(5)
#endif

	/* --- Q8: a rejected record goes to the audit trail before its position is released --- */
#ifdef REJECT
	:: d_step { ACTIVE(h) && rej[h]==1 -> audit=audit|REJ;
#ifdef OLD_REJ
		done[h]=done[h]|REJ;       /* released on audit's receipt; raw's coverage follows, write-behind */
#endif
		rej[h]=2 }
	:: d_step { ACTIVE(h) && rej[h]==2 ->
		if
		:: ep[h]==epoch -> held=held|REJ; done[h]=done[h]|REJ; rej[h]=0
		:: else -> forget(h); st[h]=PROVE
		fi }
#endif

	/* --- commit the contiguous frontier; a zombie's commit is refused, which is Lost --- */
#if defined(DECIDE) && !defined(NAMED)
#define NEWS(h) (FRONT(h)>committed || !hasc)          /* the position of a Start is committed, too */
#else
#define NEWS(h) (FRONT(h)>committed)
#endif
	:: d_step { (st[h]==RUN || st[h]==REVOKE) && OWNS(h) && NEWS(h) ->
#if defined(DECIDE) && !defined(NAMED)
		hasc=1;
#endif
		committed=FRONT(h); assert(INV1) }             /* INV1, INV2 */

	/* --- fenced: acquire again only with proof of ownership (a generation-checked commit) --- */
	:: d_step { st[h]==PROVE ->
#ifdef MUT_COVFIRST
		done[h]=held|vd;
#endif
#if defined(MUT_NOPROOF) || defined(OLD_FENCE)
		see(h); st[h]=ACQ
#elif defined(NAMED)
		idle(h)                    /* the first fence halts the host; who starts it again is in Env */
#else
		if :: owner==h -> see(h); st[h]=ACQ :: else -> idle(h) fi
#endif
	   }

	/* --- the connection to the store was lost: coverage is compared before anything is sent --- */
#ifdef RESTORE
#ifndef OLD_RECHECK
	:: d_step { ACTIVE(h) && chk[h] ->
		chk[h]=0; newsession(h);
		if
#ifdef NAMED
		:: MINUS(done[h], held|vd)!=0 -> forget(h); ANEW(h)
#else
		:: MINUS(done[h], held|vd)!=0 -> forget(h); st[h]=PROVE
#endif
		:: else -> if :: UNLEAD(h) -> lead=0 :: else fi
		fi }
#endif
#endif

	/* --- Drop answers Revoking; Lost comes late --- */
	:: d_step { st[h]==REVOKE && owner==h -> idle(h); owner=NONE }
#ifdef NAMED                       /* nobody says Lost */
#elif defined(NOLOST)
	:: d_step { st[h]!=IDLE && owner==NONE -> idle(h) }    /* a zombie is not told while another host owns */
#else
	:: d_step { st[h]!=IDLE && owner!=h -> idle(h) }
#endif
	od
}

/* ---------- the store works on write i ---------- */
#define LOCK(i,j) ((i)!=(j) && (tst[j]==OPEN || tst[j]==HUNG) && (tsp[j] & tsp[i] & DELIV)!=0 && !tvo[i] && !tvo[j])
/* an accepted void is an alarm: something must really be lost. (Not when Gap arrives: a zombie's view is old) */
#ifdef CHECKALARM
#define ALARM(i) assert(!tvo[i] || MINUS(tsp[i],held)!=0)
#else
#define ALARM(i) skip
#endif
/* no start skips what came after the first one: it was decided then, and it is decided once */
#ifdef DECIDE
#define ONCE(i) assert(tvo[i]!=2 || begun==NOTYET || MINUS(tsp[i], vd|BEFORE)==0)
#else
#define ONCE(i) skip
#endif
#define APPLY(i) ALARM(i); ONCE(i); if :: tvo[i] -> vd=vd|MINUS(tsp[i],held) :: else -> held=held|MINUS(tsp[i],REJ) fi
/* the answer of an orphan is dropped: run and session are compared */
#ifdef MUT_OLDSESS
#define END(i,s) if :: i<4 || (dead[(i<4->0:i-4)] && s==DONE) -> tst[i]=s :: else -> tfree(i) fi
#else
#define END(i,s) if :: i<4 -> tst[i]=s :: else -> tfree(i) fi
#endif
#define ORPHAN(i) (i>=4 && dead[(i<4->0:i-4)])

proctype Write(byte i)
{
end:
	do
#ifdef PARQUET
	:: d_step { tst[i]==SENT ->
		if
		:: !CURRENT(i) -> END(i, FENCED)
		:: else ->
#ifndef SOFT
			assert(tep[i]==epoch && OWNER_OF(i)==eph);  /* INV6 */
#endif
			ALARM(i); ONCE(i);
			x=MINUS(tsp[i], held|vd);                   /* what other commits hold is dropped */
			if
			:: x==0 ->
#ifdef MUT_NORELY
				END(i, DONE)
#else
				tst[i]=LINKED
#endif
			:: else -> if :: tvo[i] -> link(0,x) :: else -> link(x,0) fi; tst[i]=LINKED
			fi
		fi; x=0 }
	:: d_step { tst[i]==LINKED -> dirsync(); END(i, DONE) }
	/* a plugin that outlived its host, or was killed: it stops anywhere */
	:: d_step { ORPHAN(i) && (tst[i]==SENT || tst[i]==LINKED) -> tfree(i) }
#else
#ifdef HANG
	:: d_step { tst[i]==SENT && !LOCK(i,0) && !LOCK(i,1) && !LOCK(i,2) && !LOCK(i,3) && !LOCK(i,4) && !LOCK(i,5) -> tst[i]=OPEN }
	:: d_step { ORPHAN(i) && tst[i]==OPEN && flt<F -> flt++; tst[i]=HUNG }  /* cut without RST in mid-COPY */
#define RUNNING OPEN
#else
#define RUNNING SENT
#endif
	:: d_step { tst[i]==RUNNING ->                     /* epoch check, rows, coverage, commit: one transaction */
		if
		:: !CURRENT(i) -> END(i, FENCED)
		:: else ->
#ifndef SOFT
			assert(eph==NONE || OWNER_OF(i)==eph);      /* INV6 */
#endif
			APPLY(i); END(i, DONE)
		fi }
	:: d_step { i<4 && tst[i]==RUNNING && CURRENT(i) && flt<F -> flt++; APPLY(i);  /* answer lost */
#ifdef DECIDE
		if :: tvo[i]==2 -> m=OWNER_OF(i); unsure(m); m=0 :: else -> tst[i]=WANT fi }
#else
		tst[i]=WANT }
#endif
	:: d_step { ORPHAN(i) && (tst[i]==SENT || tst[i]==OPEN) -> tfree(i) }
#endif
#ifdef MUT_OLDSESS
	:: d_step { i>=4 && tst[i]==DONE && !ACTIVE(th[i-4]) -> tfree(i) }
#endif
	od
}

#define INWORK(h) (ACTIVE(h) && (tst[2*h]!=FREE && tst[2*h]!=WANT || tst[2*h+1]!=FREE && tst[2*h+1]!=WANT))

/* ---------- the group coordinator, and every fault that is not a store's ---------- */
proctype Env()
{
	do
#ifdef NAMED
	/* somebody starts a host: again, when none runs, or by mistake (or to take over) while the other runs */
#define STARTED(h) \
	:: d_step { st[h]==IDLE && st[1-h]==IDLE -> st[h]=ACQ } \
	:: d_step { flt<F && st[h]==IDLE && st[1-h]!=IDLE -> flt++; st[h]=ACQ }
	STARTED(0)
	STARTED(1)
	/* kill -9 of a source plugin: the host, which may have slept, starts it again and has the stream assigned anew */
#define SOURCE(h) \
	:: d_step { flt<F && ACTIVE(h) -> flt++; forget(h); ANEW(h) }
	SOURCE(0)
	SOURCE(1)
#else
	:: d_step { owner==NONE && st[0]==IDLE -> owner=0 }
	:: d_step { owner==NONE && st[1]==IDLE && !(FIRST0 && flt==0) -> owner=1 }
#endif
#ifdef DECIDE
	:: d_step { hi<N -> hi++ }     /* a record comes */
#endif
	/* session timeout, missed deadline: ownership goes, the host does not know (zombie) */
	:: d_step { flt<F && owner!=NONE -> flt++; owner=NONE }
	/* cooperative revoke; in any state but RUN the Drop is immediate */
#define REVOKED(h) \
	:: d_step { flt<F && owner==h && st[h]!=IDLE && st[h]!=REVOKE -> flt++; \
		if :: st[h]==RUN -> st[h]=REVOKE :: else -> idle(h); owner=NONE fi }
	REVOKED(0)
	REVOKED(1)
	/* kill -9 of a host; its writes and its plugin may go on for a while. Its membership lives on or not */
#define CRASH(h) \
	:: d_step { flt<F && st[h]!=IDLE -> flt++; idle(h); killed(h) } \
	:: d_step { flt<F && st[h]!=IDLE && owner==h -> flt++; idle(h); killed(h); owner=NONE }
	CRASH(0)
	CRASH(1)
	/* kill -9 of a sink plugin (or its stream is lost); the host lives: same run, same epoch */
	:: d_step { flt<F && INWORK(0) -> flt++; newsession(0) }
	:: d_step { flt<F && INWORK(1) -> flt++; newsession(1) }
#ifndef PARQUET
	/* an epoch was issued and the answer was lost (its host acquires again) */
	:: d_step { flt<F && (st[0]==ACQ || st[1]==ACQ) -> flt++; bump(NONE) }
#endif
#ifdef RET
	/* retention removes the head of the log */
	:: d_step { flt<F && lo==0 && HI>=1 -> flt++; lo=1 }
	:: d_step { flt<F && lo==0 && HI>=3 -> flt++; lo=3 }
#endif
#ifdef RESTORE
	:: d_step { !snap -> snap=1; sheld=held; svd=vd; sepoch=epoch }
	:: d_step { flt<F && snap && !restored ->
		flt++; restored=1; lead=1; held=sheld; vd=svd; epoch=sepoch; eph=NONE;
		sheld=0; svd=0; sepoch=0; chk[0]=(st[0]!=IDLE); chk[1]=(st[1]!=IDLE);
		k=0; do
		:: k<4 -> if :: tst[k]==SENT||tst[k]==OPEN -> tst[k]=WANT :: else fi; k++
		:: k==4 || k==5 -> tfree(k); k++
		:: else -> break
		od; k=0 }
#endif
#ifdef POWER
	/* power cut: every link without a directory fsync stays or goes, by itself; both hosts die */
	:: atomic { flt<F -> flt++;
		d_step { idle(0); idle(1);
			k=0; do :: k<NT -> tfree(k); k++ :: else -> break od; k=0; owner=NONE; x=0 };
		do
		:: k<un ->
			if
			:: x=1                                      /* this link is lost */
			:: d_step { assert(x==0);                   /* n is there, a lower one is missing: the log is refused */
				dheld=dheld|usp[k]; dvd=dvd|uvd[k] }
			fi;
			usp[k]=0; uvd[k]=0; k++
		:: else -> break
		od;
		d_step { k=0; x=0; un=0;
#ifdef MUT_NOFSYNC
			assert((dheld & torn)==0);                  /* INV7: every visible file is complete */
#endif
			held=dheld; vd=dvd; eph=NONE; assert(INV1) } }
#endif
	/* nothing can move any more: all must be delivered */
	:: timeout -> assert(FIN); break
	od
}

init { atomic { run Host(0); run Host(1); run Write(0); run Write(1); run Write(2); run Write(3); run Write(4); run Write(5); run Env() } }
