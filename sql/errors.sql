-- dyn_error_name(): one SQLSTATE per DynamoDB exception
SELECT n, dyn_error_name('YD' || lpad(n::text, 3, '0')) FROM generate_series(0, 18) n;
SELECT dyn_error_name('23505'), dyn_error_name(''), dyn_error_name(NULL);
