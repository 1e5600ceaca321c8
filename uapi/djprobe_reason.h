/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * Why a site is not probed, or not jump-optimized: one vocabulary for the
 * analysis, the module, the loader and the tests.
 *
 * The numbers are ABI (`reason` in struct djprobe_attach and djprobe_query):
 * append only, never reuse. No include, so that freestanding code may use it.
 *
 * X(number, NAME, "name", "what it means, as the end of the sentence
 *                          'SITE: ...'", detail)
 * where `detail` says what djprobe_*.detail[0] and [1] hold.
 */
#ifndef DJPROBE_REASON_H
#define DJPROBE_REASON_H

/* clang-format off */
#define DJPROBE_REASONS(X)                                                                         \
	X(0, NONE, "none", "nothing stands against it", "-")                                       \
	/* 1..63: not a site at all; neither int3 nor jump. */                                     \
	X(1, NO_SUCH_SYMBOL, "no-such-symbol", "no such function", "-")                            \
	X(2, AMBIGUOUS_SYMBOL, "ambiguous-symbol", "several functions have this name",             \
	  "two of their addresses")                                                                \
	X(3, NOT_TEXT, "not-text", "not in the text of the kernel or of a live module", "-")       \
	X(4, PAST_END, "past-end", "past the end of the function", "start and end of the function")\
	X(5, NOT_BOUNDARY, "not-boundary", "not the first byte of an instruction",                 \
	  "the boundary before and the one after")                                                 \
	X(6, INIT_TEXT, "init-text", "in init text, which is freed after boot", "-")               \
	X(7, BLACKLISTED, "blacklisted", "on the kernel's kprobe blacklist (noinstr or NOKPROBE)", \
	  "-")                                                                                     \
	X(8, OWN_TEXT, "own-text", "part of the probe machinery itself", "-")                      \
	X(9, TRAP_PATH, "trap-path", "runs on every int3 before recursion can be detected", "-")   \
	X(10, IDLE_TEXT, "idle-text", "idle code, which no quiescence covers", "-")                \
	X(11, FTRACE_SITE, "ftrace-site", "the ftrace call of the function", "-")                  \
	X(12, JUMP_LABEL, "jump-label", "a jump label, which the kernel rewrites", "-")            \
	X(13, STATIC_CALL, "static-call", "a static call, which the kernel rewrites", "-")         \
	X(14, BUG_SITE, "bug-site", "a BUG or WARN trap", "-")                                     \
	X(15, FOREIGN_PATCH, "foreign-patch", "already patched by someone else (kprobe?)",         \
	  "address of the differing byte")                                                         \
	X(16, UNDECODABLE, "undecodable", "an instruction that the decoder does not know",         \
	  "its address")                                                                           \
	X(17, NOT_RELOCATABLE, "not-relocatable", "an instruction that cannot run elsewhere",      \
	  "its address")                                                                           \
	X(18, EXTABLE_INSN, "extable-insn", "an instruction with an exception-table entry",        \
	  "its address")                                                                           \
	X(19, INTERRUPT_SHADOW, "interrupt-shadow",                                                \
	  "an instruction that holds off interrupts for its successor", "its address")             \
	X(20, SYSTEM_FLOW, "system-flow",                                                          \
	  "an instruction that leaves the flow of the kernel (hlt, iret, sysret, ...)",            \
	  "its address")                                                                           \
	X(21, TRAP_INSN, "trap-insn", "an int3, int or ud instruction", "its address")             \
	X(23, ENDBR, "endbr", "an indirect-branch landing pad (endbr64)", "its address")           \
	X(24, MODULE_LEAVING, "module-leaving", "its module is loading or unloading", "-")         \
	X(25, ALTERNATIVE, "alternative", "an alternative that the kernel may still rewrite", "-") \
	X(26, MODULE_GONE, "module-gone", "its module has been unloaded", "-")                     \
	X(27, POST_AT_BRANCH, "post-at-branch",                                                    \
	  "a handler for after its instruction was asked for, but that one branches",              \
	  "its address")                                                                           \
	X(28, TAIL_CALL, "tail-call",                                                              \
	  "the function also leaves by a jump to another one: not all its returns are its own",    \
	  "the jump, where it leads (0: not known)")                                               \
	X(29, NO_RETURN, "no-return", "the function never returns", "its address")                 \
	X(30, NO_FUNCTION, "no-function",                                                          \
	  "not a function that a compiler has made, with a call of ftrace at its entry",           \
	  "its address")                                                                           \
	X(31, ENTRY_AGAIN, "entry-again",                                                          \
	  "a branch leads back to where the return address would be replaced, within one call",    \
	  "the branch (0: a fixup), that place")                                                   \
	X(32, SPECIAL_RETURN, "special-return",                                                    \
	  "it returns as another task or elsewhere: its return address must stay", "its address")  \
	X(33, FRAGILE_TEXT, "fragile-text",                                                        \
	  "the kernel copies or rewrites this code, or enters it where no probe can run", "-")     \
	/* 64..127: int3 stays, the jump is refused. */                                            \
	X(64, MODE_INT3, "mode-int3", "int3 was asked for", "-")                                   \
	X(65, SHORT_REGION, "short-region", "fewer than 5 bytes up to the end of the function",    \
	  "end of the function")                                                                   \
	X(66, BRANCH_INTO_REGION, "branch-into-region", "a branch lands inside the 5 bytes",       \
	  "the branch, where it lands")                                                            \
	X(67, FIXUP_INTO_REGION, "fixup-into-region",                                              \
	  "an exception fixup lands inside the 5 bytes", "0, where it lands")                      \
	X(68, POINTER_INTO_REGION, "pointer-into-region",                                          \
	  "a stored code pointer (jump table?) leads inside the 5 bytes",                          \
	  "where it is stored, where it leads")                                                    \
	X(69, LABEL_INTO_REGION, "label-into-region",                                              \
	  "a jump label, when enabled, lands inside the 5 bytes", "the label, where it lands")     \
	X(70, ENDBR_IN_REGION, "endbr-in-region",                                                  \
	  "an indirect-branch landing pad lies inside the 5 bytes", "its address")                 \
	X(71, CALL_IN_REGION, "call-in-region",                                                    \
	  "a call in the middle of the 5 bytes would return into them", "the call")                \
	X(72, INDIRECT_JUMP, "indirect-jump",                                                      \
	  "the function jumps through a register or memory to places unknown", "the jump")         \
	X(73, UNSCANNABLE, "unscannable", "the function around it cannot be decoded",              \
	  "where decoding stopped")                                                                \
	X(74, OUT_OF_REACH, "out-of-reach", "a displaced operand would be out of +-2 GiB reach",   \
	  "the instruction")                                                                       \
	X(75, REGION_RESERVED, "region-reserved",                                                  \
	  "an instruction inside the 5 bytes is reserved", "its address, its own reason")          \
	X(76, OVERLAP, "overlap", "another probe lies within the region", "address of its site")   \
	X(77, NO_INDEX, "no-index", "the kernel-wide index of branch targets could not be built",  \
	  "-")                                                                                     \
	X(78, FILLER, "filler", "bytes after the last instruction are not plain filler",           \
	  "address of the byte")                                                                   \
	X(79, TEXT_CHANGED, "text-changed", "the text changed while the probe was being optimized",\
	  "address of the differing byte")                                                         \
	X(80, OPTIMIZATION_OFF, "optimization-off", "jumps are switched off for all probes",       \
	  "-")                                                                                     \
	X(81, SHARED_KPROBE, "shared-kprobe",                                                      \
	  "the kernel has a kprobe of its own at this instruction: the probe takes part in it",    \
	  "its address")                                                                           \
	/* 128..: the request, not the site. */                                                    \
	X(128, PROG_FD, "prog-fd", "not a file descriptor of a BPF program", "-")                  \
	X(129, PROG_TYPE, "prog-type", "not a program of type kprobe", "-")                        \
	X(130, PROG_SLEEPABLE, "prog-sleepable", "a sleepable program cannot run in a probe", "-") \
	X(131, PROG_OVERRIDE, "prog-override",                                                     \
	  "bpf_override_return is allowed only at entries of functions on the kernel's "           \
	  "error-injection list",                                                                  \
	  "-")                                                                                     \
	X(132, PROG_ATTACH_TYPE, "prog-attach-type",                                               \
	  "a kprobe.multi, session or uprobe program expects another kind of attachment",          \
	  "its expected attach type")                                                              \
	X(133, NO_MEMORY, "no-memory", "out of memory", "-")                                       \
	X(134, LOCKDOWN, "lockdown", "kernel lockdown forbids probes", "-")                  \
	X(135, DISABLED, "disabled", "the probe, or all probes, are disabled", "-")  \
	X(136, NO_SHADOW, "no-shadow", "this kernel has no rethook to replace return addresses by", \
	  "-")                                                                                     \
	X(137, PROG_EXTENDED, "prog-extended",                                                     \
	  "a program extension (freplace) is attached to it: detach that first", "-")              \
	X(138, INTERRUPTED, "interrupted", "the caller was killed meanwhile", "-")               \
	X(139, ADDRESSES_HIDDEN, "addresses-hidden",                                               \
	  "kernel addresses are hidden from the caller (kernel.kptr_restrict): name the site by "  \
	  "its symbol",                                                                            \
	  "-")
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
