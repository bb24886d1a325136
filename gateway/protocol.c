/*
 * protocol.c
 *	  AWS JSON 1.0: a message becomes an operation, a caller and a JSON text.
 *
 * The checks come in the order of the service's, which clients' tests rely on.  Only where a body is
 * compressed is the signature first: a stranger must not have us inflate anything.
 */
#include "protocol.h"

#include <string.h>
#include <strings.h>

#include "auth.h"
#include "json.h"

/* Returns a field of the header; NULL if there is none. */
const char *
protocol_header(const SignedRequest *message, const char *name)
{
	for (size_t i = 0; i < message->header_count; i++)
	{
		if (header_is(&message->headers[i], name))
			return message->headers[i].value;
	}
	return NULL;
}

/* Returns whether the message is in the protocol that newer services of AWS have beside JSON. */
bool
protocol_is_cbor(const SignedRequest *message)
{
	const char *protocol = protocol_header(message, "smithy-protocol");
	const char *type = protocol_header(message, "content-type");

	return (protocol != NULL && strcasecmp(protocol, "rpc-v2-cbor") == 0) ||
		   (type != NULL && strncasecmp(type, "application/cbor", strlen("application/cbor")) == 0);
}

static bool
protocol_refuse(Request *request, ErrorKind error)
{
	answer_error(&request->answer, error, NULL, NULL);
	return false;
}

/* Returns whether there is a type that we speak, or no body and no type. */
static bool
read_content_type(const SignedRequest *message, Request *request)
{
	const char *type = protocol_header(message, "content-type");

	if (type != NULL)
		request->content_type = operation_content_type(type);
	if (request->content_type != NULL || (type == NULL && message->body_size == 0))
		return true;
	answer_not_found(&request->answer);
	return false;
}

static bool
check_json(Request *request)
{
	return json_valid(request->body.data, request->body.size) ||
		   protocol_refuse(request, ERROR_FRAMING);
}

static bool
find_operation(const SignedRequest *message, Request *request)
{
	request->operation = operation_find(protocol_header(message, "x-amz-target"));
	return request->operation != NULL || protocol_refuse(request, ERROR_UNKNOWN_OPERATION);
}

static bool
inflate_body(Request *request, BodyEncoding encoding)
{
	Body received = request->body;
	BodyResult result;

	request->body = (Body){0};
	result = body_inflate(&received, encoding, &request->body);
	body_free(&received);
	switch (result)
	{
		case BODY_OK:
			return true;
		case BODY_TOO_LARGE:
			answer_too_large(&request->answer);
			return false;
		case BODY_BROKEN:
			return protocol_refuse(request, ERROR_FRAMING);
		case BODY_NO_MEMORY:
			break;
	}
	return protocol_refuse(request, ERROR_UNAVAILABLE);
}

static bool
has_body(Request *request)
{
	return request->body.size > 0 || protocol_refuse(request, ERROR_FRAMING);
}

/*
 * Read a message, whose body the request has, as received.  Returns false if the request has its
 * answer already.
 */
bool
protocol_read(const SignedRequest *message, Request *request)
{
	BodyEncoding encoding = body_encoding(protocol_header(message, "content-encoding"));

	if (!read_content_type(message, request))
		return false;
	if (encoding == BODY_UNKNOWN_ENCODING)
		return protocol_refuse(request, ERROR_UNSUPPORTED_TYPE);
	if (encoding == BODY_IDENTITY)
		return (message->body_size == 0 || check_json(request)) &&
			   find_operation(message, request) && auth_check(message, request) &&
			   has_body(request);
	return find_operation(message, request) && auth_check(message, request) && has_body(request) &&
		   inflate_body(request, encoding) && has_body(request) && check_json(request);
}
