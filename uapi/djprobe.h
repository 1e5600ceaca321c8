/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * The ioctl ABI of /dev/djprobe: all that userspace knows of the module.
 *
 * /dev/djprobe (mode 0600) gives a control fd; DJPROBE_IOC_ATTACH on it gives
 * a probe fd. A probe lives as long as its fd: closing the last copy of it,
 * also by SIGKILL, detaches the probe and leaves no byte behind.
 *
 * Every open and every ioctl needs CAP_BPF and CAP_PERFMON in the initial user
 * namespace, as the kernel's own kprobes with a BPF program do: else EPERM. As
 * there, CAP_SYS_ADMIN stands for both. What concerns the probes of all needs
 * CAP_SYS_ADMIN itself (DJPROBE_IOC_SWITCH).
 *
 * Extension rule: each struct begins with its own `size` as the caller knows
 * it. A shorter struct than the module's is read as if zero-filled and written
 * back up to `size`; a longer one, up to a page, is accepted when all the bytes
 * that the module does not know are zero (else E2BIG). Reserved fields and
 * unknown flag bits must be zero (else EINVAL). Integers are native-endian; all
 * structs have the same layout for 32- and 64-bit callers.
 *
 * A caller that may not see kernel addresses (kptr_restrict; see /proc/kallsyms)
 * gets 0 in every address, detail and byte of text that is written back, and may
 * name sites by their symbols only: any answer about a guessed address would tell
 * where the kernel lies. Both the caller and the process that opened the fd (or
 * attached the probe) need the right to see them.
 *
 * Lockdown `confidentiality` forbids kprobes, and with them what each ioctl
 * below says. Lockdown `integrity` forbids nothing here. A probe may always be
 * taken away.
 *
 * Errors common to all: EPERM (see above), EFAULT (unreadable or unwritable
 * argument), EINVAL (size below the first published one, reserved not zero),
 * E2BIG (see above), ENOTTY (not an ioctl of this kind of fd). None of these
 * writes anything back, unless the writing itself has failed.
 *
 * Words: the IA is a site's first byte, the address of the probed instruction.
 * The DCR are the whole instructions that the five bytes of a jump replace. They
 * run in the detour instead.
 */
#ifndef DJPROBE_H
#define DJPROBE_H

#include <linux/ioctl.h>
#include <linux/types.h>

#include "djprobe_action.h"
#include "djprobe_reason.h"

#define DJPROBE_DEVICE "/dev/djprobe"

/* It changes when an old loader could misread a new module, or the reverse. */
#define DJPROBE_ABI_VERSION 1

/* How a probe may be built. */
enum djprobe_mode {
	DJPROBE_MODE_AUTO = 0, /* int3 first; a jump follows where it is proved safe */
	DJPROBE_MODE_INT3 = 1, /* never a jump */
};

/* A site's state; see docs/architecture.md for the transitions. 4 is not used. */
enum djprobe_state {
	DJPROBE_STATE_DISARMED = 0,   /* original bytes */
	DJPROBE_STATE_ARMED = 1,      /* int3; it stays, `reason` says why */
	DJPROBE_STATE_OPTIMIZING = 2, /* int3; the jump comes after quiescence */
	DJPROBE_STATE_OPTIMIZED = 3,  /* the jump is in the text */
	DJPROBE_STATE_GONE = 5,	      /* the kernel has freed the text with its module */
};

/* What a CPU meets at the site now. */
enum djprobe_mechanism {
	DJPROBE_MECHANISM_NONE = 0,
	DJPROBE_MECHANISM_INT3 = 1,
	DJPROBE_MECHANISM_JUMP = 2,
};

/* Which bytes the jump takes at a site; see docs/analysis.md. */
enum djprobe_tactic {
	DJPROBE_TACTIC_WINDOW = 0,	/* five bytes from the IA on */
	DJPROBE_TACTIC_SLIDE = 1,	/* five bytes from an earlier instruction on */
	DJPROBE_TACTIC_SPRINGBOARD = 2, /* two bytes at the IA, to five dead bytes nearby */
};

/*
 * Why a handler was skipped on a hit; index into djprobe_query.missed[].
 *
 * A hit that races with attaching, detaching, enabling or disabling is not a
 * miss: either it finds the probe in the site's list of handlers, runs the
 * handler and is counted, or it comes before the probe's time or after it.
 */
enum djprobe_miss {
	/* a probe's handler was running on this CPU: the hit came from it or from an interrupt */
	DJPROBE_MISS_RECURSION = 0,
	/* another BPF tracing program was active on this CPU, or BPF was busy with a map */
	DJPROBE_MISS_BPF_BUSY = 1,
	/* the hit came in an NMI during a probe's handler on this CPU; shadow mode: in any NMI */
	DJPROBE_MISS_NMI = 2,
	/* shadow mode: all instances were in use */
	DJPROBE_MISS_NO_INSTANCE = 3,
	DJPROBE_MISS_KINDS = 4,
};
/* The names of the causes, by enum djprobe_miss, for all that shows them. */
#define DJPROBE_MISS_NAMES                                                                         \
	{                                                                                          \
		"recursion", "bpf-busy", "nmi", "no-instance"                                      \
	}
#define DJPROBE_MISS_MAX 8 /* room in the ABI; entries past DJPROBE_MISS_KINDS are 0 */

/*
 * Control fd: which module is this, on which kernel?
 * No side effect. A loader compares abi_version before all else.
 */
struct djprobe_info {
	__u32 size;	   /* in */
	__u32 abi_version; /* out: DJPROBE_ABI_VERSION of the module */
	char release[64];  /* out: the running kernel's release (uname -r), NUL-terminated */
};
#define DJPROBE_IOC_INFO _IO('j', 0)

/* Flags of struct djprobe_attach. */
enum djprobe_attach_flags {
	/*
	 * Probe every return instruction of the function: those of its own body and of the parts
	 * that the compiler has moved elsewhere. The program runs right before the return, with
	 * the return value in its register. The site must be the start of a function, `offset` 0.
	 * One probe fd holds one probe for each return instruction, and all or none are attached;
	 * bpf_get_func_ip() tells the function. Return addresses and stacks stay as they are, so
	 * nothing limits recursion or sleeping, and a return is missed only as any hit is (enum
	 * djprobe_miss). Refused with TAIL_CALL where the function also leaves by a jump to another
	 * one, and with NO_RETURN, NO_FUNCTION, UNSCANNABLE (EACCES).
	 */
	DJPROBE_ATTACH_RETURN = 1,
	/*
	 * With RETURN: shadow mode, for functions that leave by a tail call. A probe at the entry
	 * replaces the return address. The program runs when the function, or the function that it
	 * has left to, returns, with the value in its register, `ip` the true return address and
	 * `sp` as it is behind the return. There is one probe, whose site is the entry; stack
	 * traces stay true. Each call that is under way takes an instance. The module soon makes
	 * more of them when they run short; a call that finds none is counted as missed
	 * (NO_INSTANCE), and so is one whose return the kernel's graph tracer has, or from 7.x on
	 * its fprobes (kprobe.multi): the stack would end there. The program does not see calls
	 * that are under way when the probe is detached, nor those that return while it is
	 * disabled. Refused with NO_RETURN, NO_FUNCTION, ENTRY_AGAIN, SPECIAL_RETURN, UNSCANNABLE
	 * (EACCES), NO_SHADOW (EOPNOTSUPP) and as any site.
	 */
	DJPROBE_ATTACH_SHADOW = 2,
	/*
	 * With SHADOW: entry and return in one. The program `entry_prog_fd` runs at the entry. It
	 * returns 64 bits, which are the call's cookie; the return of a call whose cookie is 0 is
	 * not seen. At the return the program finds the cookie as its first argument (di), and the
	 * time of the entry, by the clock of bpf_ktime_get_ns(), as its second one (si).
	 */
	DJPROBE_ATTACH_SESSION = 4,
	/*
	 * Count the hits and run no program. `prog_fd` is the fd of a map of type percpu_array,
	 * whose values userspace reads as those of any map; `cookie` says which 64 bits of it
	 * count, by DJPROBE_COUNTER(). The module holds a reference to the map until no CPU can
	 * count any more. Counts are exact in any context and never missed, also where a program
	 * would be: within handlers, in NMIs. Only where the site takes part in a kprobe of the
	 * kernel's own (SHARED_KPROBE) a hit that the kernel skips is missed. Several probes may
	 * share a site, each with its counter; those that count come before programs. Goes with no
	 * other flag but ONCE, and with no `entry_prog_fd`; in DJPROBE_IOC_ATTACH_MANY a site may
	 * have RETURN: the function's returns share the counter, which the first one of their
	 * probes tells as its hits, and the others tell 0. Refused with NO_MAP (EBADF), MAP_KIND
	 * (EOPNOTSUPP), NO_COUNTER and ODD_COUNTER (ERANGE), and as any site.
	 *
	 * With DJPROBE_IOC_ATTACH_MANY a list of actions (djprobe_action.h) may replace the
	 * increment. All that is said here holds for it, too.
	 */
	DJPROBE_ATTACH_COUNT = 8,
	/*
	 * For DJPROBE_IOC_ATTACH_MANY, where the caller stands between a tool and the kernel: the
	 * program sees `ip` and `sp` as a kprobe or kretprobe of the kernel's own shows them. `ip`
	 * is the address behind the kprobe's int3, which at a function's entry means the ftrace
	 * call where it has one; at a return both are as they are behind it.
	 */
	DJPROBE_ATTACH_AS_KPROBE = 16,
	/*
	 * The same for kprobe.multi. The program is one of that kind, and only such a one is taken.
	 * One that asks bpf_get_func_ip() or bpf_get_attach_cookie(), or may tail-call, is refused
	 * with PROG_ATTACH_TYPE: it would look for a link of the kernel's.
	 */
	DJPROBE_ATTACH_AS_MULTI = 32,
	/*
	 * With COUNT: a probe is disabled, as by DJPROBE_IOC_ENABLE, soon after its first hit. The
	 * module looks for such probes five times a second, at `hits`. Until then a probe counts
	 * each hit. It may be enabled again; its counter, if that is not 0, soon disables it. So
	 * each such probe needs a counter of its own that is 0. Of actions one must be COUNT or
	 * LOG2.
	 */
	DJPROBE_ATTACH_ONCE = 64,
	/*
	 * For DJPROBE_IOC_ATTACH_MANY, beside any of its flags: leave out the sites that are
	 * refused and attach the others.
	 */
	DJPROBE_ATTACH_SKIP = 128,
	/* Only told, by DJPROBE_IOC_QUERY: conditions stand in front of the program (`actions` of
	 * struct djprobe_attach_many). */
	DJPROBE_ATTACH_FILTERED = 256,
};

/* The 64 bits at `offset` of the value under `key`: the offset is a multiple of 8. */
#define DJPROBE_COUNTER(key, offset) ((__u64)(key) << 32 | (__u32)(offset))

/*
 * Control fd: attach a probe. Returns the probe fd (O_CLOEXEC).
 *
 * The site is `symbol` + `offset`, or `address` when `symbol` is 0. A symbol
 * is "NAME" or "MODULE:NAME". An offset from "_text", the kernel's first byte,
 * may reach any of the kernel's functions, also one of several with one name.
 * The first byte of a function means the function entry: the first instruction
 * after endbr64 and the ftrace call, where registers and stack still hold the
 * arguments. Any other place is taken literally and must be the first byte of an
 * instruction.
 *
 * The handler is a loaded BPF_PROG_TYPE_KPROBE program. The module holds its
 * own reference until no CPU can run it any more; prog_fd may be closed. As
 * long as the program is a handler, the kernel attaches no extension (freplace)
 * to it and answers EBUSY, because an extension would find neither cookie nor
 * registers. Tracing it (fentry, fexit) may begin and end at any time.
 *
 * The program sees the registers as they are before the instruction, with `ip`
 * at the site. (A kprobe of the kernel's own shows the address behind its int3.)
 *
 * The probe is armed (int3) on return; the jump follows asynchronously, see
 * DJPROBE_IOC_WAIT. May sleep. On failure nothing has changed.
 *
 * EINVAL: an unknown mode or flag; flags that do not go together (SHADOW without
 * RETURN, SESSION without both); RETURN with an offset; `entry_prog_fd` without
 * SESSION; `symbol` and `address` together; an offset without a symbol; a name
 * of 568 bytes or more. EINVAL, EFAULT, E2BIG, EPERM for want of the capability
 * and ENOMEM for the name write nothing back: a `reason` that was 0 stays NONE.
 * Any other error writes `reason` and `detail`:
 *   ENOENT      NO_SUCH_SYMBOL
 *   ENOTUNIQ    AMBIGUOUS_SYMBOL
 *   ERANGE      PAST_END, NO_COUNTER, ODD_COUNTER
 *   EILSEQ      NOT_BOUNDARY, UNDECODABLE
 *   EBUSY       FOREIGN_PATCH, MODULE_LEAVING, OVERLAP, PROG_EXTENDED
 *   EBADF       PROG_FD, NO_MAP
 *   EOPNOTSUPP  PROG_TYPE, PROG_SLEEPABLE, PROG_OVERRIDE, PROG_ATTACH_TYPE, PROG_WRITES,
 *               NO_SHADOW, MAP_KIND
 *   ENOMEM      NO_MEMORY, NO_INDEX; NONE: no memory for the probe fd
 *   EINVAL      NO_ACTION
 *   EPERM       LOCKDOWN (confidentiality), ADDRESSES_HIDDEN
 *   EINTR       INTERRUPTED: the caller was killed meanwhile
 *   EMFILE, ENFILE  NONE: no more fds for this process, no more files for all
 *   EACCES      any other reason: not a site
 */
struct djprobe_attach {
	__u32 size;    /* in */
	__u32 flags;   /* in: enum djprobe_attach_flags */
	__u64 symbol;  /* in: user pointer to a NUL-terminated name (at most 567 bytes), or 0 */
	__u64 offset;  /* in: bytes from the symbol; 0 without one */
	__u64 address; /* in: kernel virtual address without a symbol, else 0; out: the IA */
	__u64 cookie;  /* in: what bpf_get_attach_cookie() returns to the program; with COUNT the
			* counter */
	__s32 prog_fd; /* in: the handler; with COUNT the counter's map */
	__u32 mode;    /* in: enum djprobe_mode */
	__u32 reason;  /* out: enum djprobe_reason; on success why it will stay int3, or NONE */
	__s32 entry_prog_fd; /* in: with SESSION, else 0 */
	__u64 detail[2];     /* out: see djprobe_reason.h */
};
#define DJPROBE_IOC_ATTACH _IO('j', 1)

/* What may be done at a site. */
enum djprobe_verdict {
	DJPROBE_VERDICT_REFUSED = 0, /* `reason` says why it is no site */
	DJPROBE_VERDICT_INT3 = 1,    /* `reason` says why it gets no jump */
	DJPROBE_VERDICT_JUMP = 2,
};

/*
 * Control fd: what would DJPROBE_IOC_ATTACH do? The module decides as there, and neither patches
 * nor keeps anything. The site is named as there, with the same EINVAL. May sleep. Returns 0 with
 * any verdict. It fails, with `reason` and `detail`, only for a place that is none (ENOENT,
 * ENOTUNIQ, ERANGE; EACCES with NOT_TEXT) and for a caller that may not ask (EPERM with LOCKDOWN or
 * ADDRESSES_HIDDEN, as attaching).
 * With RETURN the verdict, and all that goes with it, is about the return of the function that does
 * worst; `address` is the function's start, with SHADOW its entry.
 */
struct djprobe_explain {
	__u32 size;	  /* in */
	__u32 flags;	  /* in: 0, RETURN, or RETURN and SHADOW of enum djprobe_attach_flags */
	__u64 symbol;	  /* in: as in djprobe_attach */
	__u64 offset;	  /* in */
	__u64 address;	  /* in: as in djprobe_attach; out: the IA */
	__u32 verdict;	  /* out: enum djprobe_verdict */
	__u32 reason;	  /* out: enum djprobe_reason */
	__u64 detail[2];  /* out: see djprobe_reason.h */
	__u32 tactic;	  /* out: enum djprobe_tactic, with verdict JUMP as all below */
	__u32 before;	  /* out: displaced instructions that run before the handler */
	__u64 anchor;	  /* out: where the jump would be written */
	__u64 board;	  /* out: address of the springboard, or 0 */
	__u32 region_len; /* out: bytes of the DCR, from the anchor on */
	__u32 reserved;	  /* 0 */
	__u8 region[32];  /* out: its original bytes; 0 where addresses are hidden */
};
#define DJPROBE_IOC_EXPLAIN _IO('j', 4)

/*
 * Probe fd: what is this probe, and what has it done? ERANGE: the fd has no probe `index`.
 *
 * Under lockdown `confidentiality` `displaced` is 0.
 *
 * Counters are sums over all CPUs. They are exact once no CPU hits the probe any
 * more; before, each is a value that it had during the call. May sleep.
 *
 * /proc/PID/fdinfo/FD of a probe fd tells what the fd stands for, as it does for a
 * BPF link: `attachment` (a number that no other probe fd has, dup()s excepted),
 * `probes` (how many), `prog_id` and, of a session, `entry_prog_id`; with COUNT `map_id` instead.
 */
struct djprobe_query {
	__u32 size;	     /* in */
	__u32 index;	     /* in: which of the fd's probes, in the order of attachment */
	__u32 state;	     /* out: enum djprobe_state of the site */
	__u32 mechanism;     /* out: enum djprobe_mechanism */
	__u32 reason;	     /* out: enum djprobe_reason; why not a jump, or NONE */
	__u32 tactic;	     /* out: enum djprobe_tactic */
	__u32 displaced_len; /* out: bytes of the DCR (jump) or of one instruction (int3) */
	__u32 flags;	     /* in: 0; out: how it was attached, RETURN, SHADOW, COUNT, ONCE,
			      * FILTERED */
	__u64 detail[2];     /* out: see djprobe_reason.h */
	__u64 address;	     /* out: the IA */
	__u64 offset;	     /* out: IA - start of `symbol` */
	__u64 cookie;	     /* out */
	__u64 hits;	     /* out: how often the program ran; with COUNT the counter's value,
			      * with actions how often the first COUNT or LOG2 of them counted */
	__u64 missed[DJPROBE_MISS_MAX]; /* out: how often it was skipped, by enum djprobe_miss */
	__u64 anchor;	    /* out: where the DCR begins: the IA, or before it (slide) */
	__u8 displaced[32]; /* out: the original bytes from there on, displaced_len of them */
	char symbol[512]; /* out: symbol that holds the IA, NUL-terminated; "" in the state GONE */
	char module[64];  /* out: its module, "" for the kernel itself */
};
#define DJPROBE_IOC_QUERY _IO('j', 2)

/*
 * Probe fd: sleep until the optimizer has decided about the sites, that is until
 * none is in the state OPTIMIZING. No argument. EINTR on a signal, unless its
 * handler restarts calls (SA_RESTART).
 */
#define DJPROBE_IOC_WAIT _IO('j', 3)

/* One site of DJPROBE_IOC_ATTACH_MANY; named as in struct djprobe_attach. */
struct djprobe_site {
	__u64 symbol;  /* in */
	__u64 offset;  /* in */
	__u64 address; /* in; out: the IA */
	__u64 cookie;  /* in */
	__u32 reason;  /* out: enum djprobe_reason; on success why it will stay int3, or NONE */
	__u32 flags; /* in: 0, RETURN, or RETURN and SHADOW of enum djprobe_attach_flags; out: with
		      * SKIP also DJPROBE_SITE_LEFT_OUT */
	__u64 detail[2]; /* out: see djprobe_reason.h */
};
/* The site is refused, `reason` and `detail` say why, and the others go on without it. */
#define DJPROBE_SITE_LEFT_OUT 0x80000000u

/*
 * Control fd: attach one program at many sites, all or none. Returns one probe
 * fd for all of them. They share one quiescence and a handful of core syncs.
 * A site with RETURN has one probe for each return; the probes of one site follow
 * each other.
 *
 * Errors as DJPROBE_IOC_ATTACH; `failed` is then the index of the site that was
 * refused, whose `reason` and `detail` say why, or `count` when no site is at
 * fault (bad program, no memory). A success writes back all sites, a refusal only
 * that one. EINVAL also for a `count` of 0 or above DJPROBE_MANY_MAX, and for
 * SESSION with a site that has not both RETURN and SHADOW, or COUNT with a site that has
 * another flag than RETURN, and for more than DJPROBE_ACTIONS_MAX actions, or for ONCE with none
 * that `hits` shows; like EFAULT and E2BIG, and ENOMEM for the list itself, it writes nothing back.
 *
 * With COUNT and actions the cookie of a site names its first counter; each action says how far
 * behind it its own one lies, within the value. A list that holds what is no action is refused with
 * NO_ACTION. The module holds a reference to the map of times, too, and refuses one that is none
 * with NO_MAP (EBADF), MAP_KIND (EOPNOTSUPP) or NO_COUNTER (ERANGE: its size).
 *
 * Without COUNT the actions stand in front of the program, and are conditions (IF_*): NO_ACTION for
 * others. Where one does not hold, the probed text goes on as if there were no probe: such a hit is
 * neither one of the program's nor missed, and counts nowhere. The conditions are about the place
 * where the probe is: with RETURN each return, with SHADOW and in a session the entry, and of a
 * call that does not pass there the return is not seen. Behind a SHADOW probe that came to the same
 * site before, memory at the stack pointer no longer holds the caller's address: a condition sees
 * there what a program would. (A module that does not know this answers EINVAL.)
 *
 * With SKIP a site that is refused for its own sake is left out, with all returns of its function;
 * nothing of it stays, as after a refusal. A success writes back all sites, those that are left out
 * with DJPROBE_SITE_LEFT_OUT, and `failed` is their number; the probes are those of the other
 * sites, in their order. When all are left out, that is a refusal: `failed` is 0, the error is the
 * first site's, and all sites are written back. What no site is at fault for (NO_MEMORY,
 * INTERRUPTED, LOCKDOWN, the program, the map, a counter that the map does not have) and
 * ADDRESSES_HIDDEN refuse all sites, as without SKIP.
 */
struct djprobe_attach_many {
	__u32 size; /* in */
	/*
	 * in: 0; DJPROBE_ATTACH_SESSION, where all sites have RETURN and SHADOW;
	 * DJPROBE_ATTACH_COUNT, where each has 0 or RETURN, and its counter as cookie, also with
	 * ONCE;
	 * DJPROBE_ATTACH_AS_KPROBE or DJPROBE_ATTACH_AS_MULTI. Each may have DJPROBE_ATTACH_SKIP.
	 */
	__u32 flags;
	__u64 sites;   /* in: user pointer to `count` of struct djprobe_site */
	__u32 count;   /* in: 1 to DJPROBE_MANY_MAX */
	__u32 mode;    /* in: enum djprobe_mode */
	__s32 prog_fd; /* in: the handler of all sites; with COUNT the map of their counters */
	__u32 failed;  /* out: of a refusal, see above; with SKIP how many are left out */
	__u32 reason;  /* out: of a refusal, enum djprobe_reason */
	__s32 entry_prog_fd; /* in: with SESSION, as in struct djprobe_attach; else 0 */
	__u64 detail[2];     /* out: of a refusal */
	/* Up to here it was published first. */
	__u64 actions;	    /* in: user pointer to `action_count` struct djprobe_action, or 0 */
	__u32 action_count; /* in: up to DJPROBE_ACTIONS_MAX; 0: each hit increments its counter, or
			     * runs the program */
	__s32 times_fd;	    /* in: with TIME or ELAPSED, the map of the tasks' times; else 0 */
};
#define DJPROBE_IOC_ATTACH_MANY _IO('j', 5)
#define DJPROBE_MANY_MAX 65536

/*
 * Probe fd: disable or enable all its probes. A site without enabled probes
 * holds its original bytes. Enabling decides anew about each site and may fail as
 * attaching may, by lockdown too: all or none. `failed` is then the index of the
 * probe at fault, or their number when no probe is. EINVAL: `enable` above 1.
 * EINTR with nothing written back: the caller was killed while another thread
 * used this ioctl. ENXIO, likewise: to enable probes whose event fd has been closed.
 * Doing it twice is no error. Counters go on. May sleep; enabling waits for a
 * quiescence.
 *
 * When the ioctl returns from disabling, no new hit finds the program. A hit that
 * had begun may still start or run it for tens of milliseconds.
 */
struct djprobe_enable {
	__u32 size;	 /* in */
	__u32 enable;	 /* in: 0 or 1 */
	__u32 failed;	 /* out: of a refusal, index of the probe; else how many there are */
	__u32 reason;	 /* out: of a refusal, enum djprobe_reason */
	__u64 detail[2]; /* out: of a refusal */
};
#define DJPROBE_IOC_ENABLE _IO('j', 6)

/* Probe fd: sums over all its probes; struct djprobe_query says what they mean. */
struct djprobe_total {
	__u32 size;			/* in */
	__u32 count;			/* out: probes of this fd */
	__u64 hits;			/* out */
	__u64 missed[DJPROBE_MISS_MAX]; /* out */
	__u32 states[8];		/* out: how many probes are in each enum djprobe_state */
};
#define DJPROBE_IOC_TOTAL _IO('j', 7)

/*
 * Probe fd: DJPROBE_IOC_QUERY of several probes at once, for a process that watches many: each
 * ioctl runs code that may be probed itself.
 *
 * Each answer is the first `entry_size` bytes of a struct djprobe_query. The names at the end of
 * that struct take most of the time; an answer without them has `offset` 0, which is found with
 * them. ERANGE: there is no probe `first`. EINVAL: `entry_size` is 0, no multiple of 8, or more
 * than struct djprobe_query; `count` is 0. ENOMEM: out of memory.
 */
struct djprobe_query_many {
	__u32 size;	  /* in */
	__u32 first;	  /* in: index of the first probe */
	__u32 count;	  /* in: the most answers; out: how many there are */
	__u32 entry_size; /* in: bytes of each answer */
	__u64 queries;	  /* in: user pointer to room for them */
};
#define DJPROBE_IOC_QUERY_MANY _IO('j', 8)

/* The switches for all probes at once. All are on when the module has been loaded. */
enum djprobe_switches {
	DJPROBE_SWITCH_PROBES =
		1, /* off: no probe is in the text; each keeps its own state besides */
	DJPROBE_SWITCH_JUMPS = 2, /* off: every site is at int3 and stays there */
};

/*
 * Control fd: change switches, and tell how they stand. debugfs djprobe/enabled and
 * djprobe/optimization are the same switches, where lockdown leaves debugfs open.
 *
 * A change needs CAP_SYS_ADMIN: else EPERM, and nothing is written back. With it probes are always
 * switched off. At int3 a site that counts takes more memory than with its jump: ENOMEM, and jumps
 * stay on, when it is short for all of them; nothing is switched on then, or written back. To
 * switch on is to attach all that was off: where lockdown forbids that, EPERM with LOCKDOWN, and
 * what was to be off is off. A probe that cannot come back stays disabled, and DJPROBE_IOC_QUERY
 * tells why. EINVAL: an unknown switch, or one that is to be on but not to be changed. EINTR: the
 * caller was killed while another task used the switches. Doing it twice is no error. May sleep;
 * switching on may wait for a quiescence.
 */
struct djprobe_switch {
	__u32 size;   /* in */
	__u32 change; /* in: enum djprobe_switches, or-ed; 0: change none */
	__u32 on;     /* in: which of these are to be on, the others off; out: all that are on */
	__u32 reason; /* out: enum djprobe_reason; of a refusal, else NONE */
};
#define DJPROBE_IOC_SWITCH _IO('j', 9)

/*
 * Control fd: make an event fd (O_CLOEXEC), which stands where a tool expects the descriptor of a
 * perf event or of a BPF link. The argument, a number, is enum djprobe_event_kind. EINVAL: another
 * number; ENOMEM, EMFILE, ENFILE.
 *
 * It holds no probe at first. Once DJPROBE_IOC_HOLD has given it a probe fd's probes, it answers as
 * that fd does, in /proc/PID/fdinfo too, and closing its last copy disables them: the probe fd
 * keeps their counters, and poll() of it tells POLLHUP then. The probes live as long as both.
 *
 * One in place of a perf event answers perf's ioctls as an event does that has a program and no
 * buffer, which run the program whatever they say: PERF_EVENT_IOC_ENABLE, DISABLE and RESET do
 * nothing; PERF_EVENT_IOC_ID gives its number (EFAULT: unwritable). These need no capability.
 * read() gives 0, poll() tells POLLHUP. DJPROBE_IOC_QUERY and its like: ENOTTY without a probe.
 */
enum djprobe_event_kind {
	DJPROBE_EVENT_PERF = 0, /* in place of a perf event */
	DJPROBE_EVENT_LINK = 1, /* in place of a BPF link */
};
#define DJPROBE_IOC_EVENT _IO('j', 10)

/*
 * Event fd: hold a probe fd's probes. The caller may close the probe fd. EBADF: `probe_fd` is no
 * probe fd. EBUSY: the event holds some already, or another event has had these.
 */
struct djprobe_hold {
	__u32 size;	/* in */
	__s32 probe_fd; /* in */
};
#define DJPROBE_IOC_HOLD _IO('j', 11)

/* Event fd: write its number, which no other event fd has, to the __u64 of the argument. */
#define DJPROBE_IOC_NUMBER _IO('j', 12)

/*
 * Probe fd, or event fd that holds probes: keep a file of the kernel's, a perf event or a BPF link.
 * It stands for the probes where the kernel has to place some of them itself. The caller may close
 * its own descriptor.
 *
 * It is let go when the event fd that holds the probes is closed for good: unless somebody else has
 * it open, its kprobes are gone when that close() returns. Of probes that no event has held it is
 * let go with the probe fd. Another file takes the place of one that is kept; that one is let go.
 * EBADF: `fd` is neither kind of file. ENXIO: the event fd that held the probes has been closed.
 */
struct djprobe_keep {
	__u32 size; /* in */
	__s32 fd;   /* in */
};
#define DJPROBE_IOC_KEEP _IO('j', 13)

/*
 * Control fd: read text of the kernel or of a module as it is without djprobe's patches, and
 * without the int3s and jumps of the kernel's own kprobes. Tracers' calls are told as they are.
 *
 * The bytes are those of one moment. There are fewer than asked for where the text ends. EACCES:
 * `address` is in no text, or its module comes or goes. EINVAL: `length` is 0 or more than
 * DJPROBE_TEXT_MAX. EPERM: the caller may not see addresses, or lockdown forbids kprobes. ENOMEM:
 * out of memory. May sleep, for as long as another task writes text.
 */
struct djprobe_text {
	__u32 size;    /* in */
	__u32 length;  /* in: how many bytes; out: how many there are */
	__u64 address; /* in */
	__u64 bytes;   /* in: user pointer to room for them */
};
#define DJPROBE_TEXT_MAX 65536
#define DJPROBE_IOC_TEXT _IO('j', 14)

#endif
