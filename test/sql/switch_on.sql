-- Takes back what switch_off.sql has done.
SELECT format('ALTER DATABASE %I RESET dynamo_table.%s', current_database(), :'service') \gexec
