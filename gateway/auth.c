/*
 * auth.c
 *	  Who sends a request: the holder of an access key, or whoever is on this machine.
 */
#include "auth.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "limit.h"
#include "log.h"
#include "metrics.h"
#include "signature.h"

static Keys *keys; /* NULL: requests need no signature */
static Signatures *signatures;
static Caller everybody;

static void
auth_report(bool failed, const char *message)
{
	log_message(failed ? LEVEL_WARNING : LEVEL_INFO, "%s", message);
}

static bool
start_keys(const Config *config)
{
	KeysSource source = {
		.connection = config->database, .key_file = config->key_file, .report = auth_report};
	SignatureSettings settings = {.region = config->region,
								  .refuse_tokens = config->session_tokens == TOKENS_REFUSE,
								  .debug = config->debug_signature};
	char *failure = NULL;

	keys = keys_new();
	signatures = keys == NULL ? NULL : signatures_new(keys, &settings);
	if (signatures != NULL && keys_start(keys, &source, &failure))
		return true;
	log_message(LEVEL_ERROR, "%s", failure == NULL ? "out of memory" : failure);
	free(failure);
	return false;
}

/* Begin to know keys.  Returns false, and says why, if requests could not be told apart. */
bool
auth_start(const Config *config)
{
	if (config->auth == AUTH_KEYS)
		return start_keys(config);
	snprintf(everybody.role_name, sizeof(everybody.role_name), "%s", config->auth_role);
	return true;
}

/* Returns whether keys are known. */
bool
auth_is_ready(void)
{
	return keys == NULL || keys_loaded(keys);
}

static bool
auth_refuse(Request *request, Refusal *refusal)
{
	metrics_auth_failure(refusal->reason);
	request->reason = refusal->reason;
	if (refusal->message == NULL)
		answer_error(&request->answer, ERROR_INTERNAL, NULL, NULL);
	else
		answer_error(&request->answer, error_of_type(refusal->type), refusal->message, NULL);
	free(refusal->message);
	return false;
}

/* Learn which region the request is for: the one of the setting, or the one that it is signed for. */
static void
learn_region(const SignedRequest *message, Request *request)
{
	const char *region = config_now()->region;

	if (*region != '\0')
		region_keep((Part){region, strlen(region)}, request->region);
	else
		signature_region(message, request->region);
}

/*
 * Learn who sends the request and for which region, and whether they may have one more.  Otherwise the
 * request has its answer.
 */
bool
auth_check(const SignedRequest *message, Request *request)
{
	Refusal refusal = {0};

	learn_region(message, request);
	if (keys == NULL)
	{
		request->caller = everybody;
		return true;
	}
	/* an unknown key is not asked for again */
	if (!keys_loaded(keys))
	{
		request->reason = "keys";
		answer_error(&request->answer, ERROR_UNAVAILABLE, NULL, NULL);
		return false;
	}
	if (!signature_verify(signatures, message, time(NULL), &request->caller, &refusal))
		return auth_refuse(request, &refusal);
	request->reason = limit_enter(request->caller.key_id);
	request->counted = request->reason == NULL;
	if (request->counted)
		return true;
	metrics_throttled();
	answer_error(&request->answer, ERROR_THROTTLING, "Rate exceeded", NULL);
	return false;
}

/* Notes that the request has its answer. */
void
auth_leave(Request *request)
{
	if (request->counted)
		limit_leave(request->caller.key_id);
	request->counted = false;
}

/* Read the key file and the keys again. */
void
auth_reload(void)
{
	char *failure = NULL;

	if (keys != NULL && !keys_reload(keys, config_now()->database, &failure))
		log_message(LEVEL_ERROR, "%s", failure == NULL ? "out of memory" : failure);
	free(failure);
}

/* Forget all keys. */
void
auth_stop(void)
{
	if (signatures != NULL)
		signatures_free(signatures);
	if (keys != NULL)
		keys_free(keys);
	signatures = NULL;
	keys = NULL;
}
