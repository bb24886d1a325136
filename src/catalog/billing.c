/*
 * billing.c
 *	  Changes of a table's billing mode and of the units that it and its indexes are said to have.
 */
#include "postgres.h"

#include "catalog/shape.h"

/*
 * Sets the billing mode; capacity is NULL if none is given with it.  A table that is billed by
 * request has no units, and its indexes lose theirs.  Raises ERRCODE_DYN_VALIDATION if the units do
 * not go with the mode.
 */
void
dyn_shape_set_billing(DynShape *shape, DynBilling billing, const DynCapacity *capacity)
{
	DynSettings *settings = &shape->settings;
	DynBilling old = settings->billing;
	ListCell *cell;

	settings->billing = billing;
	if (capacity != NULL)
		settings->capacity = *capacity;
	else if (billing == DYN_PAY_PER_REQUEST)
		settings->capacity = (DynCapacity){0};
	dyn_settings_check_capacity(billing, &settings->capacity, NULL);
	if (billing == DYN_PROVISIONED || old == DYN_PAY_PER_REQUEST)
		return;
	foreach (cell, shape->indexes)
		((DynIndexSpec *) lfirst(cell))->capacity = (DynCapacity){0};
}

/* Raises ERRCODE_DYN_VALIDATION if the units of a global index do not go with the billing mode. */
void
dyn_shape_check_capacities(const DynShape *shape)
{
	ListCell *cell;

	foreach (cell, shape->indexes)
	{
		const DynIndexSpec *spec = lfirst(cell);

		if (!spec->local)
			dyn_settings_check_capacity(shape->settings.billing, &spec->capacity, &spec->name);
	}
}
