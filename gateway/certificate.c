/*
 * certificate.c
 *	  Whether a certificate is valid by now.
 *
 * The library of TLS does not look at that: it is clients who would refuse it.
 */
#include "certificate.h"

#include <openssl/pem.h>
#include <openssl/x509.h>
#include <stdio.h>

/* Returns false if the first certificate of a file has expired, or is not valid yet.  What is no
 * certificate is for others to find out. */
bool
certificate_is_current(const char *path)
{
	FILE *file = fopen(path, "r");
	X509 *certificate = file == NULL ? NULL : PEM_read_X509(file, NULL, NULL, NULL);
	bool current =
		certificate == NULL || (X509_cmp_current_time(X509_get0_notBefore(certificate)) < 0 &&
								X509_cmp_current_time(X509_get0_notAfter(certificate)) > 0);

	X509_free(certificate);
	if (file != NULL)
		fclose(file);
	return current;
}
