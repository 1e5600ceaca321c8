/* SPDX-License-Identifier: GPL-2.0 */
/*
 * libprobeload: loads BPF programs, attaches them by djprobe, and reads the events that they send.
 *
 *     cc app.c $(pkg-config --cflags --libs probeload)
 *
 * Errors. A call that returns an int returns 0 or more, or minus a code of enum
 * probeload_error; one that returns a text returns null. Then nothing has changed, and
 * probeload_message() says in a line what was wrong, where, and what to do. No call ends the
 * process, prints, takes a signal or starts a thread.
 *
 * Threads. An object, a probe and a measurement are used by one thread at a time; different ones
 * may be used at once. While an object is opened or loaded, or something is measured, what libbpf
 * prints for that thread is kept for the message: do not call libbpf_set_print() meanwhile.
 *
 * Ownership. What a call makes is the caller's to close or detach, in any order. Texts that come
 * back belong to the library, and live as long as their call says. File descriptors that come back
 * live as long as their object, and are not the caller's to close. The end of the process takes its
 * probes out of the kernel, whatever ends it; a child of fork() without exec shares them until
 * then.
 *
 * Rights. probeload_check(), loading, attaching and measuring need CAP_BPF and CAP_PERFMON, or
 * CAP_SYS_ADMIN; a pattern, blocks, and names of functions in results need CAP_SYSLOG, too.
 */
#ifndef PROBELOAD_H
#define PROBELOAD_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The exit statuses of probeload. More may come. */
enum probeload_error {
    PROBELOAD_FAILURE = 1,        /* the system failed: out of memory, I/O error */
    PROBELOAD_USAGE = 2,          /* a wrong argument, or a call out of order */
    PROBELOAD_BAD_FILE = 3,       /* the file cannot be read, or is no BPF object */
    PROBELOAD_COMPILE = 4,        /* clang is missing, or has failed */
    PROBELOAD_REJECTED = 5,       /* the kernel's verifier or libbpf rejects the object */
    PROBELOAD_NOT_LOADED = 6,     /* the module djprobe is not loaded */
    PROBELOAD_ABI_MISMATCH = 7,   /* the module is of another version */
    PROBELOAD_NO_PERMISSION = 8,  /* capabilities are missing, or lockdown forbids it */
    PROBELOAD_NO_SUCH_SITE = 9,   /* no such function or offset, or several of a name */
    PROBELOAD_REFUSED_SITE = 10,  /* the site must not be probed */
    PROBELOAD_BUSY_SITE = 11,     /* another patcher has it, or its module is leaving */
    PROBELOAD_WRONG_PROGRAM = 12, /* not a program that djprobe can run */
};

/* "0.1.0": of the library that runs. A constant. */
const char* probeload_version(void);

/*
 * What the last call of this thread that failed has to say: a line, and behind it some more where
 * the kernel's verifier has spoken. "" before any. Until the next failure in this thread.
 */
const char* probeload_message(void);
/* Its code, of enum probeload_error. 0 before any. */
int probeload_code(void);

/* Whether probes can be attached: the module is there, speaks this version, and lets us. */
int probeload_check(void);

/* A BPF object: its programs, its maps, its events. */
struct probeload_object;

/*
 * Opens an object file (.bpf.o) of clang's. Nothing reaches the kernel yet. libbpf believes what a
 * file says of itself: a damaged one is refused where the library sees it, and may else crash the
 * process.
 */
int probeload_open(const char* file, struct probeload_object** object);

enum probeload_question_flags {
    PROBELOAD_INLINED = 1,      /* where the function was inlined: each instance */
    PROBELOAD_KERNEL_STACK = 2, /* each event has the kernel's stack; a result is by it, too */
    PROBELOAD_USER_STACK = 4,   /* and that of the process */
    PROBELOAD_ONCE = 8,         /* "cover": a counter leaves once its block has run */
    /* Only hits of these: the field of this name is set. */
    PROBELOAD_ONLY_PID = 16,
    PROBELOAD_ONLY_TID = 32,
    PROBELOAD_ONLY_UID = 64,
    PROBELOAD_ONLY_CPU = 128,
};

/* What probeload_ask() and probeload_measure() are asked; docs/tracing.md and docs/counting.md say
 * what each may be. An empty text is as none. */
struct probeload_question {
    const char* place; /* "vfs_read", "vfs_read:return", "fs/read_write.c:566", "vfs_read+0x2b" */
    const char* expressions; /* "file->f_inode->i_ino, count"; null: all arguments */
    const char* condition;   /* as --if: "count > 4096 && pid != 1"; null: none */
    const char* columns;     /* "cpu,comm"; null: time,cpu,pid,comm */
    const char* debuginfo; /* of lines and variables: a file or a folder; null: what is installed */
    unsigned int flags;    /* of enum probeload_question_flags */
    /*
     * In place of events, what the kernel keeps of all calls: "count", "sum EXPRESSION", "avg ...",
     * "min ...", "max ...", "hist ..." (also "hist count:linear(0,4096,16)") or "latency"; null:
     * events. Then `expressions` and `columns` are null, and the place may be a pattern: "tcp_*".
     * probeload_measure() has other ones.
     */
    const char* result;
    const char* by; /* a result for each value of these: "comm, kstack"; null: one for all calls */
    const char* to; /* of probeload_measure(): where a latency ends; else null */
    /* Only hits of a process, a thread, a user, on a CPU: each counts with its flag. */
    uint32_t pid, tid, uid, cpu;
    const char* comm;   /* only those of threads of this name; null: of any */
    const char* cgroup; /* and of this folder of /sys/fs/cgroup, with those below; null: of any */
};

/*
 * Makes the object of a question: a program, or one for each place of a line, with a ring buffer
 * `events` or, where a result is asked for, without any. Load it like any other; probeload_attach()
 * without a program's name attaches it wherever it belongs. Its events have the columns, and behind
 * them the expressions: probeload_json() prints them as `probeload trace -j`, and `probeload trace
 * ... --emit` shows their `struct event`. What the calling process does itself is left out.
 *
 * size: sizeof(struct probeload_question) as the caller knows it. Needs clang, which it runs as a
 * child of the calling process unless the same question was compiled before; a wrong expression is
 * an error, with a caret under the word. Takes up to a second, or some where debug information is
 * asked for the first time.
 */
int probeload_ask(const struct probeload_question* question, size_t size,
                  struct probeload_object** object);
/*
 * Which places of the question are left out, or have their probe beside them, and why: a line each;
 * and what else a person would be told. "" where there is nothing. Of a pattern
 * probeload_describe() tells it. Until the object is closed.
 */
const char* probeload_left_out(const struct probeload_object* object);

/*
 * Before the load: a global variable ("target_pid=42", "comm=head", "ports=80,443"), as
 * `probeload attach --set` takes it.
 */
int probeload_set_global(struct probeload_object* object, const char* assignment);
/*
 * Before the load: the size of a map ("events.max_entries=65536", "stacks.value_size=1016"), as
 * `probeload attach --map` takes it. That of a ring buffer is in bytes, up to the next power of two
 * that is 4096 or more.
 */
int probeload_set_map(struct probeload_object* object, const char* assignment);

/*
 * Once: makes the maps and loads the programs of kprobe sections, but for those that are optional
 * (SEC("?kprobe/...")). Those of other sections are left out. Takes as long as the verifier does.
 * After a failure there is nothing to do but to close the object.
 */
int probeload_load(struct probeload_object* object);

/* After the load: a file descriptor for libbpf's calls, by the name in the source. */
int probeload_program_fd(const struct probeload_object* object, const char* program);
int probeload_map_fd(const struct probeload_object* object, const char* map);

/* Its probes stay: they keep their programs. May be null. */
void probeload_close(struct probeload_object* object);

/* A program, attached. */
struct probeload_probe;

enum probeload_flags {
    PROBELOAD_RETURN = 1, /* at the function's returns, also where the section does not say so */
    PROBELOAD_INT3 = 2,   /* by int3, never by a jump */
};

/*
 * Attaches a loaded program. The probe works when the call returns, by an int3; a jump follows
 * where it is safe.
 *
 * - program: its name; null: the only one, or all that a question has.
 * - site: "vfs_read", "vfs_read+0x2b", "ext4:ext4_readdir" or "0xffffffff812c4b10"; null: what the
 *   program's section names. The start of a function means its entry, where the arguments are in
 *   their registers; any other place is the first byte of an instruction.
 * - flags: of enum probeload_flags. Where an exact probe at the returns is refused, the return
 *   address is replaced at the entry, as `probeload attach` does it.
 * - cookie: what bpf_get_attach_cookie() gives the program.
 *
 * May sleep; the first attachment since the module was loaded takes some tenths of a second.
 */
int probeload_attach(const struct probeload_object* object, const char* program, const char* site,
                     unsigned int flags, uint64_t cookie, struct probeload_probe** probe);
/*
 * The same with a program that the caller has loaded, of type kprobe, and a site that is not null.
 * The descriptor stays the caller's, and may be closed afterwards.
 */
int probeload_attach_fd(int program_fd, const char* site, unsigned int flags, uint64_t cookie,
                        struct probeload_probe** probe);

/* Sleeps until no jump is pending any more: most often for some milliseconds. */
int probeload_wait(const struct probeload_probe* probe);

/* Of all CPUs, since the probe was attached. */
struct probeload_counts {
    uint64_t hits;   /* how often the program ran */
    uint64_t missed; /* how often a hit did not run it, see enum djprobe_miss of djprobe.h */
    /* At how many instructions: one, or a function's returns. Each is in one of these states. */
    uint32_t jumps;   /* by a jump */
    uint32_t pending; /* by an int3, until the jump comes */
    uint32_t int3s;   /* by an int3 that stays */
    uint32_t out;     /* not in the text: stopped, switched off, or their module is gone */
};

/*
 * size: sizeof(struct probeload_counts) as the caller knows it, from 8 to 4096. The counters are
 * exact once the probe is stopped, and before that values of the time of the call.
 */
int probeload_count(const struct probeload_probe* probe, struct probeload_counts* counts,
                    size_t size);

/*
 * "attached vfs_read+0x5 (0xffffffff8db4cc55) by jump", or "by int3: " with the reason: as it is
 * now, for people; of a question a line for each place, of a pattern one with what is left out.
 * Until the next call for this probe. Null: it has failed.
 */
const char* probeload_describe(struct probeload_probe* probe);

/*
 * Takes the probe out of the kernel's text, and sleeps until its program runs nowhere any more:
 * what it has sent is there to be read, and the counters stay. It does not start again.
 */
int probeload_stop(struct probeload_probe* probe);

/*
 * Ends the probe and its counters. May be null. Its program may run a moment longer, unless it was
 * stopped.
 */
void probeload_detach(struct probeload_probe* probe);

/* What a program has sent by a ring buffer. */
struct probeload_event {
    const char* map;  /* the ring buffer's name */
    const void* data; /* as the program has written it, at a multiple of 8 bytes */
    size_t size;      /* bytes */
};

/*
 * A value other than 0 ends the reading behind this event. The function must neither read nor close
 * the object, nor throw anything.
 */
typedef int (*probeload_event_fn)(void* context, const struct probeload_event* event);

/*
 * Calls the function, in this thread, with each event that is in the object's ring buffers; the
 * event lives until the function returns. Waits for the first one so many milliseconds (0: not at
 * all, -1: as long as it takes), but no longer than until a signal comes. Returns how many there
 * were. Perf event arrays are not read.
 */
int probeload_poll(struct probeload_object* object, int timeout_ms, probeload_event_fn function,
                   void* context);

/* For poll() and epoll: readable while there are events. An error without a ring buffer. */
int probeload_poll_fd(const struct probeload_object* object);

/*
 * The event as the line that `probeload attach -j` prints, without its end, see docs/json.md:
 * {"type":"event","name":"event","data":{"pid":125,...}} by the types in the object. Until the next
 * call for this object. Null: it has failed.
 */
const char* probeload_json(struct probeload_object* object, const struct probeload_event* event);

/*
 * Of a question with a result: what the kernel has kept so far, the `most` largest (of "min" the
 * least), as the line that `probeload trace -j` prints, without its end, see docs/json.md:
 * {"type":"results",...}. Until the next call for this object. Null: it has failed.
 */
const char* probeload_results(struct probeload_object* object, size_t most);

/* What counts or measures in the kernel without a program of the caller's. */
struct probeload_measurement;

/* clang-format off: a table */
/*
 * Begins to measure. Of the question: `result`, which says what; `place`; and what stands beside it
 * here. All else is null or 0.
 *
 *   "count"         how often functions are called, or instructions run. `place` may be several
 *                   with spaces between, and patterns: "tcp_* vfs_read+0x2b".
 *                   condition, pid, tid, comm
 *   "hist OPERAND"  which values an argument or a register has at one place: "hist count". The same
 *   "count blocks"  how often each block of functions runs, which are named likewise.
 *                   pid, tid, comm
 *   "count lines"   the same of lines of the source. And debuginfo
 *   "cover"         which blocks have run. PROBELOAD_ONCE, pid, tid, comm
 *   "cover lines"   and which lines. And debuginfo
 *   "latency"       how long tasks take from `place` to `to`, each a function, FUNC:return or an
 *                   instruction. What the calling process does is left out. by: "cpu" or "comm"
 *
 * size: sizeof(struct probeload_question) as the caller knows it. May sleep: all functions of a
 * kernel take seconds. Each place that is named takes a file descriptor, blocks take one for all.
 * Blocks and lines keep a copy of the kernel's text in memory.
 */
/* clang-format on */
int probeload_measure(const struct probeload_question* question, size_t size,
                      struct probeload_measurement** measurement);
/*
 * How it began, for people: a line for each place, which ones are left out, and what else there is
 * to know. Until the measurement is closed.
 */
const char* probeload_how_measured(const struct probeload_measurement* measurement);
/*
 * What is known so far, as `probeload count -j`, `hist -j`, `cover -j` or `latency -j` print it,
 * see docs/json.md: a line, or one for each function, without the last one's end. `most`: so many
 * counts, the largest, or parts of a latency; those of blocks are all. Until the next call for this
 * measurement. Null: it has failed.
 */
const char* probeload_measured(struct probeload_measurement* measurement, size_t most);
/*
 * Takes its probes out of the kernel's text, and sleeps until no hit is under way any more: the
 * results are exact, and stay. It does not start again; a second call changes nothing.
 */
int probeload_stop_measuring(struct probeload_measurement* measurement);
/* Ends it, and its results. May be null. */
void probeload_close_measurement(struct probeload_measurement* measurement);

/*
 * The lines of a function's source with the instructions at which each begins, and how those can be
 * probed, as `probeload lines -j` prints them: a line each, without the last one's end. Needs debug
 * information: `debuginfo` is a file or a folder, or null: what is installed. Until the next call
 * of it in this thread. Null: it has failed.
 */
const char* probeload_lines(const char* function, const char* debuginfo);

/*
 * How many events found no room, or calls had no part in a result since its table was full, which
 * only the program can count: it does so in a global `__u64 lost`. Returns 1, or 0 where it has no
 * such variable.
 */
int probeload_lost(const struct probeload_object* object, uint64_t* lost);

#ifdef __cplusplus
}
#endif

#endif
