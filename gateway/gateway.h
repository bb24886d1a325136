/*
 * gateway.h
 *	  dynamo_gateway: DynamoDB's protocol over HTTP, in front of the extension.
 *
 * A request comes in by a loop, which reads it, checks its signature, and sends it to Postgres as one
 * statement, over a connection of its own or one that others are under way on.  While it runs the
 * loop serves other clients.  What an operation does is the extension's: nothing here knows items.
 *
 *		main.c			what the program is told to do
 *		config.c		settings: a file, the environment, flags
 *		serve.c			the program at work: start, signals, reload, drain
 *		listen.c		sockets that clients connect to
 *		certificate.c	whether a certificate is valid by now
 *		notify.c		what systemd is told
 *		embedded.c		a gateway with a Postgres of its own
 *		postgres.c		a Postgres that lives as long as the program
 *		user.c			the user of the system that the program is
 *		file.c			files that are read as a whole
 *		check.c			whether a gateway answers, for those who watch over it
 *
 *		http.c			libmicrohttpd: framing, paths, the header of every answer
 *		loop.c			a thread that waits for clients and for statements at once
 *		front.c			libmicrohttpd in a loop
 *		helper.c		a thread for what may block
 *		connections.c	connections and memory of each address, and how long clients may take
 *		host.c			the name that a client calls the gateway by
 *		console.c		static files, which a browser shows
 *		protocol.c		AWS JSON 1.0: a message becomes an operation, a caller and a JSON text
 *		operation.c		the operations that there are
 *		body.c			bodies: collected up to a limit, and inflated
 *		json.c			whether a text is JSON
 *		member.c		members of a JSON object, found without reading what they hold
 *
 *		auth.c			who sends a request, and whether they may have one more
 *		limit.c			how many requests one key may have
 *		signature.c		whether a request is signed by one of the keys
 *		authorization.c	the parts of the header Authorization
 *		canonical.c		the strings that are signed
 *		derived.c		keys of days and regions, kept
 *		date.c			dates of requests
 *		keys.c			access keys in memory
 *		key_loader.c	the thread that loads them
 *		secret.c		secrets, encrypted with the key file
 *		create_key.c	keys and key files are made
 *		setup.c			roles too, and whatever else is missing
 *
 *		stale.c			whether a standby may answer
 *		position.c		how far it has to be
 *		shards.c		which node of Citus has what a request is about
 *		shard_loader.c	the thread that loads the map of that
 *		partition.c		the partition key of a request
 *		batch.c			batches whose items are on several nodes
 *		hash.c			hashes of keys as PostgreSQL has them
 *		pool.c			connections to Postgres, and requests that wait for them
 *		session.c		one of them: its state, and the requests that are under way on it
 *		target.c		the servers, and how to connect to them
 *		late.c			connections whose statement has had its time
 *		statement.c		statements, and what the server answers
 *		outcome.c		what a request is answered when its statement has ended
 *		errors.c		what becomes of SQLSTATEs
 *		answer.c		what a request is answered
 *
 *		account.c		a request that has its answer is counted and logged
 *		metrics.c		what is counted, for Prometheus
 *		trace.c			the trace that a request belongs to
 *		log.c			one line an event
 *		text.c			text that grows
 *		utf8.c			characters of UTF-8
 *
 *		request.h		a request on its way
 *		clock.h			the time that passes
 */
