-- What the tests of the gateway use: its login, two roles, and a table whose trigger raises what an item asks for.
CREATE EXTENSION dynamo_table;
CREATE ROLE gateway LOGIN;
CREATE ROLE app;
CREATE ROLE other;
GRANT app, other TO gateway;
GRANT USAGE ON SCHEMA dynamo_internal TO gateway;
GRANT EXECUTE ON FUNCTION dynamo_internal.request_as, dynamo_internal.gateway_keys TO gateway;
GRANT CREATE ON SCHEMA public TO app;

SET ROLE app;
\o /dev/null
SELECT dyn_create_table('raising', 'pk S');
SELECT dyn_create_table('items', 'pk S');
CREATE SEQUENCE raised;
CREATE SEQUENCE caught;

-- The item {"pk": …, "raise": "40001", "detail": …, "times": n}: the first n writes fail.  Sequences are not rolled back.
-- With "exit" the error would be FATAL, if that could be.
-- The item {"pk": …, "stay": 1} has a trigger that no error ends.
-- The item {"pk": …, "flood": 1} has one that tells something without end; {"pk": …, "length": n} one that tells much at once,
-- and has a long message if it raises something, or with "details" a long detail.
-- The item {"pk": …, "keep": n} leaves a setting with a name of n characters, and {"pk": …, "notice": "53400"} only tells so.
-- The item {"pk": …, "hold": 1} waits for a lock that the test holds.
CREATE FUNCTION raise_it() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF NEW.item ? 'hold' THEN
		PERFORM pg_advisory_xact_lock_shared(42);
	END IF;
	WHILE NEW.item ? 'stay' LOOP
		BEGIN
			PERFORM set_config('statement_timeout', '0', false), pg_sleep(3600);
		EXCEPTION WHEN query_canceled THEN
			BEGIN
				PERFORM nextval('caught'), set_config('client_connection_check_interval', '0', false);
			EXCEPTION WHEN OTHERS THEN
			END;
		END;
	END LOOP;
	WHILE NEW.item ? 'flood' LOOP
		RAISE NOTICE '%', repeat('x', 1000000);
	END LOOP;
	IF NEW.item ? 'length' AND NOT NEW.item ? 'raise' THEN
		RAISE INFO '%', repeat('€', (NEW.item ->> 'length')::int);
	END IF;
	IF NEW.item ? 'keep' THEN
		PERFORM set_config('a.' || repeat('x', (NEW.item ->> 'keep')::int), '', true);
	END IF;
	IF NEW.item ? 'notice' THEN
		RAISE WARNING USING ERRCODE = NEW.item ->> 'notice', MESSAGE = 'secret words';
	END IF;
	IF NEW.item ? 'exit' THEN
		PERFORM set_config('exit_on_error', 'on', true);
	END IF;
	IF NEW.item ? 'raise' AND nextval('raised') <= coalesce((NEW.item ->> 'times')::int, 1000000) THEN
		RAISE EXCEPTION USING ERRCODE = NEW.item ->> 'raise', MESSAGE = 'secret words' || repeat('€', coalesce((NEW.item ->> 'length')::int, 0)),
			DETAIL = coalesce(NEW.item ->> 'detail', '') || repeat('€', coalesce((NEW.item ->> 'details')::int, 0));
	END IF;
	RETURN NEW;
END
$$;
CREATE TRIGGER raise_it BEFORE INSERT OR UPDATE ON raising FOR EACH ROW EXECUTE FUNCTION raise_it();
