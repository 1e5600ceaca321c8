// SPDX-License-Identifier: GPL-2.0
#include "registered.h"

#include <linux/hashtable.h>
#include <linux/mutex.h>
#include <linux/rculist.h>
#include <linux/slab.h>

struct registration {
	struct hlist_node in_table;
	struct rcu_head rcu;
	const void *probe;
	struct djp_probe *attached; /* NULL: the place is only reserved */
};

static DEFINE_HASHTABLE(registrations, 8);
/* Guards changes of the table. It is taken before the registry lock. */
static DEFINE_MUTEX(registrations_mutex);

static struct registration *find(const void *probe)
{
	struct registration *one;

	hash_for_each_possible_rcu(registrations, one, in_table, (unsigned long)probe,
				   lockdep_is_held(&registrations_mutex)) if (one->probe ==
									      probe) return one;
	return NULL;
}

static void remove(struct registration *one)
{
	hash_del_rcu(&one->in_table);
	kfree_rcu(one, rcu);
}

/* Under the mutex. */
static struct registration *find_attached(const void *probe)
{
	struct registration *const one = find(probe);

	if (one && one->attached)
		return one;
	pr_err_ratelimited("the probe %pS is not registered: nothing is done to it\n", probe);
	return NULL;
}

int djk_registered_reserve(const void *probe)
{
	struct registration *const one = kzalloc(sizeof(*one), GFP_KERNEL);
	bool twice;

	if (!one)
		return -ENOMEM;
	one->probe = probe;
	mutex_lock(&registrations_mutex);
	twice = find(probe);
	if (!twice)
		hash_add_rcu(registrations, &one->in_table, (unsigned long)probe);
	mutex_unlock(&registrations_mutex);
	if (!twice)
		return 0;
	kfree(one);
	pr_err_ratelimited("the probe %pS is registered already: unregister it first\n", probe);
	return -EINVAL;
}

void djk_registered_settle(const void *probe, struct djp_probe *attached)
{
	struct registration *one;

	mutex_lock(&registrations_mutex);
	one = find(probe);
	if (attached)
		WRITE_ONCE(one->attached, attached);
	else
		remove(one);
	mutex_unlock(&registrations_mutex);
}

struct djp_probe *djk_registered_take(const void *probe)
{
	struct djp_probe *attached = NULL;
	struct registration *one;

	mutex_lock(&registrations_mutex);
	one = find_attached(probe);
	if (one) {
		attached = one->attached;
		remove(one);
	}
	mutex_unlock(&registrations_mutex);
	return attached;
}

struct djp_probe *djk_registered_lock(const void *probe)
{
	struct registration *one;

	mutex_lock(&registrations_mutex);
	one = find_attached(probe);
	if (one)
		return one->attached;
	mutex_unlock(&registrations_mutex);
	return NULL;
}

void djk_registered_unlock(void)
{
	mutex_unlock(&registrations_mutex);
}

struct djp_probe *djk_registered_find(const void *probe)
{
	const struct registration *const one = find(probe);

	return one ? READ_ONCE(one->attached) : NULL;
}
