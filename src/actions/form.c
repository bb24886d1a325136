/*
 * form.c
 *	  Items as the application of a request sees them.
 */
#include "postgres.h"

#include "actions/actions.h"

DynItem *
action_shown(const ItemRequest *request, const DynItem *stored)
{
	if (stored == NULL || request->form == NULL)
		return (DynItem *) stored;
	return request->form->shown(stored, request->form->arg);
}

DynItem *
action_returned(const ItemRequest *request, const DynItem *stored)
{
	if (stored == NULL || request->form == NULL)
		return (DynItem *) stored;
	return request->form->returned(stored, request->form->arg);
}
