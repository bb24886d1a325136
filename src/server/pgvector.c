/*
 * pgvector.c
 *	  What is used of the extension "vector": its type, distances and indexes.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_type.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "server/extension.h"
#include "server/pgvector.h"

#define EXTENSION "vector"
#define LIBRARY "$libdir/vector"
#define OLDEST_VERSION "0.8.4" /* before, VACUUM could damage indexes of type hnsw */
#define OLDEST_NUMBER 804

/* Returns a function of the library, which is loaded if need be. */
PGFunction
pgvector_symbol(PgvectorSymbol symbol)
{
	static const char *const names[] = {"vector_in", "cosine_distance", "l2_distance",
										"vector_negative_inner_product", "vector_to_halfvec"};
	static PGFunction functions[lengthof(names)];

	if (functions[symbol] == NULL)
		functions[symbol] = load_external_function(LIBRARY, names[symbol], true, NULL);
	return functions[symbol];
}

/* Returns whether a type is that of vectors: it has their input function, as only theirs has. */
bool
pgvector_is_vector(Oid type)
{
	HeapTuple tuple = SearchSysCache1(TYPEOID, ObjectIdGetDatum(type));
	FmgrInfo input;
	Oid function;

	if (!HeapTupleIsValid(tuple))
		return false;
	function = ((Form_pg_type) GETSTRUCT(tuple))->typinput;
	ReleaseSysCache(tuple);
	fmgr_info(function, &input);
	return input.fn_addr == pgvector_symbol(PGVECTOR_INPUT);
}

/* Returns a version of three numbers as one. */
static int
version_number(const char *version)
{
	int major = 0;
	int minor = 0;
	int patch = 0;

	(void) sscanf(version, "%d.%d.%d", &major, &minor, &patch);
	return (major * 100 + minor) * 100 + patch;
}

/*
 * Returns the schema of the extension, whose types and operator classes are in it.  It is an error if
 * the extension is not installed in this database, or is too old.
 */
Oid
pgvector_require(void)
{
	Oid schema;
	char *version = extension_version_of(EXTENSION, &schema);

	if (version == NULL)
		ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
						errmsg("vector indexes need the extension \"" EXTENSION "\""),
						errdetail("It is not installed in this database."),
						errhint("Install the package of pgvector, of version %s or later, and run "
								"CREATE EXTENSION vector.",
								OLDEST_VERSION)));
	if (version_number(version) < OLDEST_NUMBER)
		ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
						errmsg("vector indexes need version " OLDEST_VERSION
							   " of the extension \"" EXTENSION "\""),
						errdetail("Version %s is installed in this database.", version),
						errhint("Install a later one, and run ALTER EXTENSION vector UPDATE.")));
	return schema;
}

/* Returns a vector of zeros in the current memory context. */
PgVector *
pgvector_new(int dimensions)
{
	Size size = offsetof(PgVector, values) + (Size) dimensions * sizeof(float);
	PgVector *vector = palloc0(size);

	SET_VARSIZE(vector, size);
	vector->dimensions = (int16) dimensions;
	return vector;
}
