// SPDX-License-Identifier: GPL-2.0
/* The functions of kmod/api/djprobe_api.h: probes of other modules. */
#include "../../api/djprobe_api.h"

#include <linux/export.h>
#include <linux/slab.h>

#include "../../../uapi/djprobe.h"
#include "../ioctl/abi.h"
#include "../hit/make_handler.h"
#include "../kernel.h"
#include "registered.h"

static int fill_request(struct djp_request *request, struct djprobe *probe)
{
	if (!probe->pre_handler && !probe->post_handler)
		return -EINVAL;
	if (probe->flags & ~(DJPROBE_INT3_ONLY | DJPROBE_DISABLED))
		return -EINVAL;
	if (probe->symbol_name ? !!probe->addr : probe->offset)
		return -EINVAL;
	request->symbol = probe->symbol_name;
	request->offset = probe->offset;
	request->address = (unsigned long)probe->addr;
	request->int3_only = probe->flags & DJPROBE_INT3_ONLY;
	request->disabled = probe->flags & DJPROBE_DISABLED;
	return 0;
}

static void take_answer(const struct djp_request *request, unsigned int *reason,
			unsigned long detail[2])
{
	*reason = request->reason;
	detail[0] = request->detail[0];
	detail[1] = request->detail[1];
}

static int attach(struct djprobe **probes, struct djp_request *requests,
		  struct djk_c_source *sources, struct djp_attachment *attachment)
{
	size_t i;
	int error;

	for (i = 0; i < attachment->count; i++) {
		error = fill_request(&requests[i], probes[i]);
		if (error)
			return error;
		sources[i] = djk_source_of_c(probes[i]);
		requests[i].source = &sources[i].source;
	}
	if (!djp_attach(attachment)) {
		i = attachment->failed;
		if (i < attachment->count)
			take_answer(&requests[i], &probes[i]->reason, probes[i]->detail);
		return djk_errno_of(attachment->reason);
	}
	for (i = 0; i < attachment->count; i++) {
		take_answer(&requests[i], &probes[i]->reason, probes[i]->detail);
		probes[i]->addr = (void *)requests[i].address;
	}
	return 0;
}

/* Reserve a place for each probe, attach all, and settle the places. */
static int register_all(struct djprobe **probes, struct djp_request *requests,
			struct djk_c_source *sources, int num)
{
	struct djp_attachment attachment = { .requests = requests, .count = num };
	int i, reserved, error = 0;

	for (reserved = 0; reserved < num; reserved++) {
		error = djk_registered_reserve(probes[reserved]);
		if (error)
			break;
	}
	if (!error)
		error = attach(probes, requests, sources, &attachment);
	for (i = 0; i < reserved; i++)
		djk_registered_settle(probes[i], error ? NULL : attachment.probes[i]);
	djk_free_large(attachment.probes);
	return error;
}

int register_djprobes(struct djprobe **probes, int num)
{
	struct djp_request *requests;
	struct djk_c_source *sources;
	int error = -ENOMEM;

	if (num <= 0)
		return -EINVAL;
	requests = kvcalloc(num, sizeof(*requests), GFP_KERNEL);
	sources = kvcalloc(num, sizeof(*sources), GFP_KERNEL);
	if (requests && sources)
		error = register_all(probes, requests, sources, num);
	kvfree(sources);
	kvfree(requests);
	return error;
}
EXPORT_SYMBOL_GPL(register_djprobes);

int register_djprobe(struct djprobe *probe)
{
	return register_djprobes(&probe, 1);
}
EXPORT_SYMBOL_GPL(register_djprobe);

void unregister_djprobes(struct djprobe **probes, int num)
{
	/* A few at a time, because this must not need memory. */
	struct djp_probe *portion[32];
	int i, count;

	for (i = 0; i < num;) {
		for (count = 0; count < ARRAY_SIZE(portion) && i < num; i++) {
			portion[count] = djk_registered_take(probes[i]);
			if (portion[count])
				count++;
		}
		djp_detach(portion, count);
	}
	djk_quiesce();
}
EXPORT_SYMBOL_GPL(unregister_djprobes);

void unregister_djprobe(struct djprobe *probe)
{
	unregister_djprobes(&probe, 1);
}
EXPORT_SYMBOL_GPL(unregister_djprobe);

static int enable(const void *probe, unsigned int *reason, unsigned long detail[2])
{
	struct djp_probe *attached = djk_registered_lock(probe);
	struct djp_request refused = {};
	size_t enabled;

	if (!attached)
		return -EINVAL;
	enabled = djp_enable(&attached, 1, &refused);
	djk_registered_unlock();
	take_answer(&refused, reason, detail);
	return enabled == 1 ? 0 : djk_errno_of(refused.reason);
}

static void disable(const void *probe)
{
	struct djp_probe *attached = djk_registered_lock(probe);

	if (!attached)
		return;
	djp_disable(&attached, 1);
	djk_registered_unlock();
	djk_quiesce();
}

int enable_djprobe(struct djprobe *probe)
{
	return enable(probe, &probe->reason, probe->detail);
}
EXPORT_SYMBOL_GPL(enable_djprobe);

void disable_djprobe(struct djprobe *probe)
{
	disable(probe);
}
EXPORT_SYMBOL_GPL(disable_djprobe);

static void count(const void *probe, unsigned long *hits, unsigned long *missed)
{
	const struct djp_probe *attached;
	unsigned long kinds[8] = {};
	int i;

	*hits = *missed = 0;
	rcu_read_lock();
	/* A handler may ask before its own registration has returned. */
	attached = djk_registered_find(probe);
	if (attached)
		djk_handler_count(djp_handler(attached), hits, kinds);
	rcu_read_unlock();
	for (i = 0; i < ARRAY_SIZE(kinds); i++)
		*missed += kinds[i];
}

void djprobe_counts(const struct djprobe *probe, unsigned long *hits, unsigned long *missed)
{
	count(probe, hits, missed);
}
EXPORT_SYMBOL_GPL(djprobe_counts);

/* ---- At returns ---- */

static bool is_sound(const struct djretprobe *probe)
{
	return probe->handler && !(probe->flags & ~(DJPROBE_INT3_ONLY | DJPROBE_DISABLED)) &&
	       !probe->symbol_name != !probe->addr && probe->data_size <= DJPROBE_RETURN_DATA_MAX &&
	       probe->maxactive <= DJPROBE_RETURN_ACTIVE_MAX;
}

int register_djretprobe(struct djretprobe *probe)
{
	const struct djk_c_source source = djk_source_of_c_return(probe);
	struct djp_request request = {
		.symbol = probe->symbol_name,
		.address = (unsigned long)probe->addr,
		.where = DJP_SHADOW_ENTRY,
		.source = &source.source,
		.int3_only = probe->flags & DJPROBE_INT3_ONLY,
		.disabled = probe->flags & DJPROBE_DISABLED,
	};
	struct djp_attachment attachment = { .requests = &request, .count = 1 };
	bool done;
	int error;

	if (!is_sound(probe))
		return -EINVAL;
	error = djk_registered_reserve(probe);
	if (error)
		return error;
	done = djp_attach(&attachment);
	take_answer(&request, &probe->reason, probe->detail);
	if (done)
		probe->addr = (void *)request.address;
	djk_registered_settle(probe, done ? attachment.probes[0] : NULL);
	djk_free_large(attachment.probes);
	return done ? 0 : djk_errno_of(attachment.reason);
}
EXPORT_SYMBOL_GPL(register_djretprobe);

void unregister_djretprobe(struct djretprobe *probe)
{
	struct djp_probe *attached = djk_registered_take(probe);

	if (!attached)
		return;
	djp_detach(&attached, 1);
	djk_quiesce();
}
EXPORT_SYMBOL_GPL(unregister_djretprobe);

int enable_djretprobe(struct djretprobe *probe)
{
	return enable(probe, &probe->reason, probe->detail);
}
EXPORT_SYMBOL_GPL(enable_djretprobe);

void disable_djretprobe(struct djretprobe *probe)
{
	disable(probe);
}
EXPORT_SYMBOL_GPL(disable_djretprobe);

void djretprobe_counts(const struct djretprobe *probe, unsigned long *hits, unsigned long *nmissed)
{
	count(probe, hits, nmissed);
}
EXPORT_SYMBOL_GPL(djretprobe_counts);
