/*
 * check.c
 *	  Whether a gateway with these settings answers, for those who watch over it.
 *
 * It asks for /healthz.  With TLS the certificate is not looked at: the gateway is this machine's.
 */
#include "check.h"

#include <openssl/ssl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "listen.h"

#define WAIT_SECONDS 5
#define QUESTION "GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
#define ANSWER "HTTP/1.1 200 "

/* Returns whether the answer begins with what it should. */
static bool
is_healthy(const char *answer, ssize_t length)
{
	return length >= (ssize_t) strlen(ANSWER) && memcmp(answer, ANSWER, strlen(ANSWER)) == 0;
}

static bool
check_ask(int fd)
{
	char answer[64];
	ssize_t length = 0;

	if (write(fd, QUESTION, strlen(QUESTION)) < 0)
		return false;
	length = recv(fd, answer, sizeof(answer), MSG_WAITALL);
	return is_healthy(answer, length);
}

static bool
ask_by_tls(int fd)
{
	SSL_CTX *context = SSL_CTX_new(TLS_client_method());
	SSL *tls = context == NULL ? NULL : SSL_new(context);
	char answer[1024];
	bool healthy = tls != NULL && SSL_set_fd(tls, fd) == 1 && SSL_connect(tls) == 1 &&
				   SSL_write(tls, QUESTION, (int) strlen(QUESTION)) > 0 &&
				   is_healthy(answer, SSL_read(tls, answer, sizeof(answer)));

	SSL_free(tls);
	SSL_CTX_free(context);
	return healthy;
}

/* Returns the status to exit with. */
int
check(const Config *config)
{
	bool elsewhere = *config->health_listen != '\0';
	const char *address = elsewhere ? config->health_listen : config->listen;
	struct timeval wait = {.tv_sec = WAIT_SECONDS};
	char *problem = NULL;
	int fd = listen_connect(address, &problem);
	bool healthy = false;

	if (fd >= 0)
	{
		setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait));
		setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof(wait));
		healthy = !elsewhere && *config->tls_certificate != '\0' ? ask_by_tls(fd) : check_ask(fd);
		close(fd);
	}
	if (!healthy)
		fprintf(stderr, "dynamo_gateway: %s\n",
				problem != NULL ? problem : "the gateway did not answer as it should");
	free(problem);
	return healthy ? 0 : 1;
}
