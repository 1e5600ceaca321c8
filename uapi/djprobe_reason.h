/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * Why a site is not probed, or not jump-optimized: one vocabulary for the
 * analysis, the module, the loader and the tests.
 *
 * The numbers are ABI (`reason` in struct djprobe_attach and djprobe_query):
 * append only, never reuse. No include, so that freestanding code may use it.
 *
 * X(number, NAME, "name", "what it means, as the end of the sentence
 *                          'SITE: ...'", DETAIL)
 * where DETAIL is an enum djprobe_detail without its prefix.
 */
#ifndef DJPROBE_REASON_H
#define DJPROBE_REASON_H

/* clang-format off */
/*
 * What djprobe_*.detail[0] and [1] hold beside a reason. Both are 0 where the
 * kernel hides addresses.
 */
enum djprobe_detail {
	DJPROBE_DETAIL_NONE,
	/* [0]: an address; of the instruction, where nothing else is said. */
	DJPROBE_DETAIL_AT,
	/* [0]: the place that leads elsewhere, [1]: where it leads; 0: not known. */
	DJPROBE_DETAIL_FROM_TO,
	/* The addresses of two functions with this name. */
	DJPROBE_DETAIL_NAMESAKES,
	/* The start and the end of the function. */
	DJPROBE_DETAIL_EXTENT,
	/* The instruction boundaries before and after. */
	DJPROBE_DETAIL_NEAREST,
	/* [0]: an address, [1]: the reason that stands against it. */
	DJPROBE_DETAIL_AT_WHY,
	/* [0]: the attach type that the program expects. */
	DJPROBE_DETAIL_ATTACH_TYPE,
	/* [0]: an index in the list of actions, [1]: that action's operation. */
	DJPROBE_DETAIL_ACTION,
};

#define DJPROBE_REASONS(X)                                                                         \
	X(0, NONE, "none", "nothing stands against it", NONE)                                      \
	/* 1..63: not a site at all; neither int3 nor jump. */                                     \
	X(1, NO_SUCH_SYMBOL, "no-such-symbol", "no such function", NONE)                           \
	X(2, AMBIGUOUS_SYMBOL, "ambiguous-symbol",                                                 \
	  "several functions have this name", NAMESAKES)                                           \
	X(3, NOT_TEXT, "not-text", "not in the text of the kernel or of a live module", NONE)      \
	X(4, PAST_END, "past-end", "past the end of the function", EXTENT)                         \
	X(5, NOT_BOUNDARY, "not-boundary", "not the first byte of an instruction", NEAREST)        \
	X(6, INIT_TEXT, "init-text", "in init text, which is freed after boot", NONE)              \
	X(7, BLACKLISTED, "blacklisted",                                                           \
	  "on the kernel's kprobe blacklist (noinstr or NOKPROBE)", NONE)                          \
	X(8, OWN_TEXT, "own-text", "part of the probe machinery itself", NONE)                     \
	X(9, TRAP_PATH, "trap-path",                                                               \
	  "runs on every int3 before recursion can be detected", NONE)                             \
	X(10, IDLE_TEXT, "idle-text", "idle code, which no quiescence covers", NONE)               \
	X(11, FTRACE_SITE, "ftrace-site", "the ftrace call of the function", NONE)                 \
	X(12, JUMP_LABEL, "jump-label", "a jump label, which the kernel rewrites", NONE)           \
	X(13, STATIC_CALL, "static-call", "a static call, which the kernel rewrites", NONE)        \
	X(14, BUG_SITE, "bug-site", "a BUG or WARN trap", NONE)                                    \
	X(15, FOREIGN_PATCH, "foreign-patch",                                                      \
	  "already patched by another patcher (kprobe?)", AT /* the differing byte */)                \
	X(16, UNDECODABLE, "undecodable", "an instruction that the decoder does not know", AT)     \
	X(17, NOT_RELOCATABLE, "not-relocatable",                                                  \
	  "an instruction that cannot run elsewhere", AT)                                          \
	X(18, EXTABLE_INSN, "extable-insn", "an instruction with an exception-table entry", AT)    \
	X(19, INTERRUPT_SHADOW, "interrupt-shadow",                                                \
	  "an instruction that holds off interrupts for its successor", AT)                        \
	X(20, SYSTEM_FLOW, "system-flow",                                                          \
	  "an instruction that leaves the flow of the kernel (hlt, iret, sysret, ...)", AT)        \
	X(21, TRAP_INSN, "trap-insn", "an int3, int or ud instruction", AT)                        \
	X(23, ENDBR, "endbr", "an indirect-branch landing pad (endbr64)", AT)                      \
	X(24, MODULE_LEAVING, "module-leaving", "its module is loading or unloading", NONE)        \
	X(25, ALTERNATIVE, "alternative",                                                          \
	  "an alternative that the kernel may still rewrite", NONE)                                \
	X(26, MODULE_GONE, "module-gone", "its module has been unloaded", NONE)                    \
	X(27, POST_AT_BRANCH, "post-at-branch",                                                    \
	  "a handler for after its instruction was asked for, but that one branches", AT)          \
	X(28, TAIL_CALL, "tail-call",                                                              \
	  "the function also leaves by a jump to another one: not all its returns are "            \
	  "its own", FROM_TO /* the jump, where it leads (0: not known) */)                        \
	X(29, NO_RETURN, "no-return", "the function never returns", AT)                            \
	X(30, NO_FUNCTION, "no-function",                                                          \
	  "not a function that a compiler has made, with a call of ftrace at its entry", AT)       \
	X(31, ENTRY_AGAIN, "entry-again",                                                          \
	  "a branch leads back to where the return address would be replaced, within "             \
	  "one call", FROM_TO /* the branch (0: a fixup), that place */)                           \
	X(32, SPECIAL_RETURN, "special-return",                                                    \
	  "it returns as another task or elsewhere: its return address must stay", AT)             \
	X(33, FRAGILE_TEXT, "fragile-text",                                                        \
	  "the kernel copies or rewrites this code, or enters it where no probe can "              \
	  "run", NONE)                                                                             \
	X(34, OPERAND_MAY_FAULT, "operand-may-fault",                                              \
	  "an operand in memory that the probed instruction itself does not read or write: "       \
	  "reading it might fault", ACTION)                                                        \
	/* 64..127: int3 stays, the jump is refused. */                                            \
	X(64, MODE_INT3, "mode-int3", "a probe at this site asked for int3", NONE)                 \
	X(65, SHORT_REGION, "short-region",                                                        \
	  "fewer than 5 bytes up to the end of the function", AT /* the end of the function */)    \
	X(66, BRANCH_INTO_REGION, "branch-into-region",                                            \
	  "a branch lands inside the 5 bytes", FROM_TO /* the branch, where it lands */)           \
	X(67, FIXUP_INTO_REGION, "fixup-into-region",                                              \
	  "an exception fixup lands inside the 5 bytes", FROM_TO /* 0, where it lands */)          \
	X(68, POINTER_INTO_REGION, "pointer-into-region",                                          \
	  "a stored code pointer (jump table?) leads inside the 5 bytes",                          \
	  FROM_TO /* where it is stored, where it leads */)                                        \
	X(69, LABEL_INTO_REGION, "label-into-region",                                              \
	  "a jump label, when enabled, lands inside the 5 bytes",                                  \
	  FROM_TO /* the label, where it lands */)                                                 \
	X(70, ENDBR_IN_REGION, "endbr-in-region",                                                  \
	  "an indirect-branch landing pad lies inside the 5 bytes", AT)                            \
	X(71, CALL_IN_REGION, "call-in-region",                                                    \
	  "a call in the middle of the 5 bytes would return into them", AT /* the call */)         \
	X(72, INDIRECT_JUMP, "indirect-jump",                                                      \
	  "the function jumps through a register or memory to places unknown",                     \
	  AT /* the jump */)                                                                       \
	X(73, UNSCANNABLE, "unscannable",                                                          \
	  "the function around it cannot be decoded", AT /* where decoding stopped */)             \
	X(74, OUT_OF_REACH, "out-of-reach",                                                        \
	  "a displaced operand would be out of +-2 GiB reach", AT /* the instruction */)           \
	X(75, REGION_RESERVED, "region-reserved",                                                  \
	  "an instruction inside the 5 bytes is reserved", AT_WHY)                                 \
	X(76, OVERLAP, "overlap",                                                                  \
	  "another probe lies within the region", AT /* the site of the other probe */)            \
	X(77, NO_INDEX, "no-index",                                                                \
	  "the kernel-wide index of branch targets could not be built", NONE)                      \
	X(78, FILLER, "filler",                                                                    \
	  "bytes after the last instruction are not plain filler", AT /* the byte */)              \
	X(79, TEXT_CHANGED, "text-changed",                                                        \
	  "the text changed while the probe was being optimized", AT /* the differing byte */)     \
	X(80, OPTIMIZATION_OFF, "optimization-off",                                                \
	  "jumps are switched off for all probes", NONE)                                           \
	X(81, SHARED_KPROBE, "shared-kprobe",                                                      \
	  "the kernel has a kprobe of its own at this instruction: the probe takes "               \
	  "part in it", AT)                                                                        \
	/* 128..: the request, not the site. */                                                    \
	X(128, PROG_FD, "prog-fd", "not a file descriptor of a BPF program", NONE)                 \
	X(129, PROG_TYPE, "prog-type", "not a program of type kprobe", NONE)                       \
	X(130, PROG_SLEEPABLE, "prog-sleepable",                                                   \
	  "a sleepable program cannot run in a probe", NONE)                                       \
	X(131, PROG_OVERRIDE, "prog-override",                                                     \
	  "bpf_override_return is allowed only at entries of functions on the "                    \
	  "kernel's error-injection list", NONE)                                                   \
	X(132, PROG_ATTACH_TYPE, "prog-attach-type",                                               \
	  "a kprobe.multi, session or uprobe program expects another kind of "                     \
	  "attachment", ATTACH_TYPE)                                                               \
	X(133, NO_MEMORY, "no-memory", "out of memory", NONE)                                      \
	X(134, LOCKDOWN, "lockdown", "kernel lockdown forbids probes", NONE)                       \
	X(135, DISABLED, "disabled", "the probe, or all probes, are disabled", NONE)               \
	X(136, NO_SHADOW, "no-shadow",                                                             \
	  "this kernel has no rethook to replace return addresses by", NONE)                       \
	X(137, PROG_EXTENDED, "prog-extended",                                                     \
	  "a program extension (freplace) is attached to it: detach that first", NONE)             \
	X(138, INTERRUPTED, "interrupted", "the caller was killed meanwhile", NONE)                \
	X(139, ADDRESSES_HIDDEN, "addresses-hidden",                                               \
	  "kernel addresses are hidden from the caller (kernel.kptr_restrict): name "              \
	  "the site by its symbol", NONE)                                                          \
	X(140, NO_MAP, "no-map", "not a file descriptor of a BPF map", NONE)                       \
	X(141, MAP_KIND, "map-kind",                                                               \
	  "counters live in a map of type percpu_array, times in one of type array, with plain "   \
	  "values that programs may write", NONE)                                                  \
	X(142, NO_COUNTER, "no-counter",                                                           \
	  "the map has no room there for a counter (8 bytes; an extreme: 16, a histogram: 520): its key or its "   \
	  "offset is too large; or one of times has not 8192 + 2^n values of 8 bytes", ACTION)                                                           \
	X(143, ODD_COUNTER, "odd-counter",                                                         \
	  "a counter's offset within the value must be a multiple of 8", ACTION)                   \
	X(144, NO_ACTION, "no-action",                                                             \
	  "not an action: its operation, register or width is not known, or a field that "         \
	  "must be 0 is not; or the list has too many registers or extremes, or does not fit "     \
	  "with TIME or ELAPSED; or, in front of a program, it is no condition", ACTION)         \
	X(145, PROG_WRITES, "prog-writes",                                                         \
	  "the program writes to the registers, which is only for uprobes", NONE)
/* clang-format on */

enum djprobe_reason {
#define DJPROBE_REASON_ENUM(number, NAME, name, text, detail) DJPROBE_REASON_##NAME = number,
	DJPROBE_REASONS(DJPROBE_REASON_ENUM)
#undef DJPROBE_REASON_ENUM
};

/* The first reason of each class above. */
#define DJPROBE_REASON_FIRST_JUMP 64
#define DJPROBE_REASON_FIRST_REQUEST 128

#endif
