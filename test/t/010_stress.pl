# Writers, index builds, VACUUM and invalidations at the same time; nothing may be damaged.
# $DYNAMO_TABLE_STRESS_SECONDS says how long (5).
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use DynamoTable;
use Ledger;

my $seconds = $ENV{DYNAMO_TABLE_STRESS_SECONDS} || 5;

my $node = PostgreSQL::Test::Cluster->new('stress');
$node->init;
$node->append_conf('postgresql.conf', "log_statement = none\nautovacuum_naptime = 1s\nmax_connections = 50");
$node->start;
create_twins($node);
create_ledger($node);
$node->safe_psql('postgres',
	'CREATE EXTENSION amcheck; CREATE INDEX ours_low ON ours (lower(left(v, 9))) WHERE grp < 25;');

# A twin's row is written under the lock of ours, so both see the same order of writes.
my %load;
$load{writers} = start_load($node, 4, $seconds, <<'EOS');
\set id random(1, 5000)
\set grp random(0, 49)
\set op random(1, 100)
BEGIN;
SELECT pg_advisory_xact_lock(:id);
\if :op <= 40
INSERT INTO ours VALUES (:id, :grp, repeat(md5(:op::text), 1 + :op % 3)) ON CONFLICT (id) DO UPDATE SET grp = excluded.grp;
INSERT INTO twin VALUES (:id, :grp, repeat(md5(:op::text), 1 + :op % 3)) ON CONFLICT (id) DO UPDATE SET grp = excluded.grp;
\elif :op <= 60
UPDATE ours SET grp = :grp WHERE id = :id;
UPDATE twin SET grp = :grp WHERE id = :id;
\elif :op <= 70
UPDATE ours SET v = repeat(md5(v), :op) WHERE id = :id;
UPDATE twin SET v = repeat(md5(v), :op) WHERE id = :id;
\elif :op <= 80
DELETE FROM ours WHERE id = :id;
DELETE FROM twin WHERE id = :id;
\elif :op <= 90
SAVEPOINT s;
UPDATE ours SET v = 'gone', grp = 0 WHERE id = :id;
DELETE FROM ours WHERE id = :id;
ROLLBACK TO s;
UPDATE ours SET v = left(v, 32) WHERE id = :id;
UPDATE twin SET v = left(v, 32) WHERE id = :id;
\else
SELECT * FROM ours WHERE id = :id FOR NO KEY UPDATE;
\endif
COMMIT;
EOS

# The same for calls, on a table with triggers, foreign keys, columns and indexes of users
$load{calls} = start_load($node, 4, $seconds, ledger_script(1000));

# One session for all builds: two concurrent builds on a table may deadlock in any PostgreSQL.
# The primary key is not among those that are rebuilt: before 19, an ON CONFLICT that meets the
# rebuild of its index may raise a unique violation.
$load{builders} = start_load($node, 1, $seconds, <<'EOS');
CREATE INDEX CONCURRENTLY ours_extra ON ours (grp, lower(left(v, 5)));
REINDEX INDEX CONCURRENTLY ours_grp;
SELECT bt_index_check('ours_extra', true);
REINDEX INDEX CONCURRENTLY ours_extra;
REINDEX INDEX CONCURRENTLY ours_low;
SELECT bt_index_check(i, true) FROM unnest('{ours_pkey, ours_grp, ours_low, ours_extra}'::regclass[]) i;
DROP INDEX CONCURRENTLY ours_extra;
REINDEX INDEX CONCURRENTLY low;
CREATE INDEX CONCURRENTLY extra ON booked ((item ->> 'note'), id) WHERE id > 10;
REINDEX INDEX CONCURRENTLY one_code;
SELECT bt_index_check(i, true) FROM unnest('{low, one_code, extra}'::regclass[]) i;
DROP INDEX CONCURRENTLY extra;
EOS

$load{vacuum} = start_load($node, 1, $seconds, <<'EOS');
VACUUM ours;
VACUUM (FREEZE) ours;
VACUUM booked;
\sleep 50 ms
EOS

# Each of them makes every other session rebuild its relcache entry.
$load{invalidations} = start_load($node, 1, $seconds, <<'EOS');
GRANT SELECT ON ours, booked TO PUBLIC;
\sleep 5 ms
REVOKE SELECT ON ours, booked FROM PUBLIC;
\sleep 5 ms
EOS

foreach my $name (sort keys %load)
{
	my $rounds = finish_load($load{$name});
	ok($rounds, "$name: " . ($rounds // 0) . " rounds without an error") or diag($load{$name}{err});
}

is($node->safe_psql('postgres', 'SELECT count(*) FROM pg_index WHERE NOT indisvalid'),
	'0', 'no build left an invalid index');
twins_agree($node, 'stress');
ledger_agrees($node, 'stress');
check_storage($node, 'stress');

$node->safe_psql('postgres', 'VACUUM FULL ours; REINDEX TABLE ours');
twins_agree($node, 'after VACUUM FULL');
check_storage($node, 'after VACUUM FULL');
$node->stop;
done_testing();
