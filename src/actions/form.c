/*
 * form.c
 *	  Items as the application of a request sees them.
 */
#include "postgres.h"

#include "actions/actions.h"

/*
 * Returns a stored item as conditions and updates of the request see it.  NULL gives NULL; a
 * request without a form gives the item itself, not a copy.
 */
DynItem *
action_shown(const ItemRequest *request, const DynItem *stored)
{
	if (stored == NULL || request->form == NULL)
		return (DynItem *) stored;
	return request->form->shown(stored, request->form->arg);
}

/*
 * Returns a stored item as the result of the request has it.  NULL gives NULL; a request without a
 * form gives the item itself, not a copy.
 */
DynItem *
action_returned(const ItemRequest *request, const DynItem *stored)
{
	if (stored == NULL || request->form == NULL)
		return (DynItem *) stored;
	return request->form->returned(stored, request->form->arg);
}
