-- check_storage(table): what amcheck has to say about a table, its TOAST table and their btrees.
-- No rows mean that all is well; a damaged index raises an error. Superusers only.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS amcheck;
RESET client_min_messages;
CREATE OR REPLACE FUNCTION check_storage(tab regclass) RETURNS SETOF text
LANGUAGE plpgsql AS $$
DECLARE
	heap CONSTANT oid := (SELECT oid FROM pg_catalog.pg_am WHERE amname = 'heap');
	toast CONSTANT oid := (SELECT reltoastrelid FROM pg_catalog.pg_class WHERE oid = tab);
	findings text[];
BEGIN
	-- verify_heapam() looks at the access method's OID, so for the time of a subtransaction
	-- the table is a heap. A variable keeps its value when the subtransaction rolls back.
	BEGIN
		UPDATE pg_catalog.pg_class SET relam = heap WHERE oid = tab AND relam <> heap;
		findings := ARRAY(SELECT format('%s: block %s, item %s, attribute %s: %s',
										tab, blkno, offnum, attnum, msg)
						  FROM verify_heapam(tab));
		RAISE EXCEPTION USING ERRCODE = 'YDUND', MESSAGE = 'undo';
	EXCEPTION WHEN SQLSTATE 'YDUND' THEN
	END;
	IF toast <> 0 THEN
		findings := findings || ARRAY(SELECT format('%s: TOAST block %s, item %s: %s',
													tab, blkno, offnum, msg)
									  FROM verify_heapam(toast::regclass));
	END IF;
	PERFORM bt_index_check(i.indexrelid, true)
	FROM pg_catalog.pg_index i JOIN pg_catalog.pg_class c ON c.oid = i.indexrelid
	WHERE i.indrelid IN (tab, toast) AND i.indisvalid
		AND c.relam = (SELECT oid FROM pg_catalog.pg_am WHERE amname = 'btree');
	RETURN QUERY SELECT unnest(findings);
END $$;
