SELECT dyn_create_table('app', 'pk S', 'sk N', global_indexes => '{"GSI1": {"partition_key": "g S"}}');
SELECT * FROM dyn_import_lines('app', e'{"Item":{"pk":{"S":"a"},"sk":{"N":"1"}}}\n{"pk":{"S":"a"},"sk":{"N":"2"},"g":{"S":"x"}}\n\n');
SELECT * FROM dyn_import_lines('app', e'{"Item":{"pk":{"S":"a"},"sk":{"N":"1"}}}\n{"pk":{"S":"a"},"sk":{"N":"z"},"g":{"S":"x"}}\n\n');
CREATE TABLE lines(line text);
INSERT INTO lines SELECT format('{"Item":{"pk":{"S":"b"},"sk":{"N":"%s"}}}', i) FROM generate_series(1,10000) i;
CALL dyn_import('app', 'lines', batch_size => 100);
SELECT count(*) FROM app;
