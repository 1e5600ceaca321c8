/* SPDX-License-Identifier: GPL-2.0 */
/* What handlers are made from. */
#ifndef DJPROBE_KMOD_MAKE_HANDLER_H
#define DJPROBE_KMOD_MAKE_HANDLER_H

#include <linux/types.h>

#include "../kernel.h"

struct djk_action_list;
struct djprobe;
struct djretprobe;
struct seq_file;

/* What djk_make_handler() calls: the first member of the sources below. */
struct djk_source {
	struct djk_handler *(*make)(const struct djk_source *source, struct djp_request *request);
};

/* As what the program sees itself, in `ip` and `sp`: DJPROBE_ATTACH_AS_KPROBE, AS_MULTI. */
enum djk_shown_as { DJK_AS_PROBE, DJK_AS_KPROBE, DJK_AS_MULTI };

/* Makes handlers that run a BPF program, each with the request's cookie and a reference of its own.
 */
struct djk_program_source {
	struct djk_source source;
	int fd;
	const int *entry_fd; /* a session's program for the entry; NULL: no session */
	size_t shadows;	     /* how many requests are about shadow entries */
	enum djk_shown_as shown_as;
	struct djk_action_list *conditions; /* in front of the program; each handler holds a
					     * reference; or NULL */
};
struct djk_program_source djk_source_of_program(int fd, const int *entry_fd, size_t shadows);

/* Makes handlers that count: the request's cookie says in which counter of the map (see
 * DJPROBE_COUNTER). `actions`: what they do with it; NULL: increment it. Each holds a reference to
 * the map and to that list. */
struct djk_counter_source {
	struct djk_source source;
	int map_fd;
	struct djk_action_list *actions;
};
struct djk_counter_source djk_source_of_counters(int map_fd, struct djk_action_list *actions);

/* Makes the one handler that runs a function in C. The probe must outlive it by a quiescence. */
struct djk_c_source {
	struct djk_source source;
	struct djprobe *probe;	      /* this, */
	struct djretprobe *at_return; /* or this */
};
struct djk_c_source djk_source_of_c(struct djprobe *probe);
struct djk_c_source djk_source_of_c_return(struct djretprobe *probe);

/* Print the ids of its BPF programs, as fdinfo of a BPF link does, or of its map. Not for handlers
 * in C. */
void djk_handler_show(const struct djk_handler *handler, struct seq_file *out);

#endif
