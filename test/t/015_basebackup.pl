# pg_basebackup under load.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use DynamoTable;

my $node = PostgreSQL::Test::Cluster->new('origin');
$node->init(allows_streaming => 1);
$node->append_conf('postgresql.conf', "log_statement = none\nautovacuum_naptime = 1s");
$node->start;
create_twins($node);

my $load = start_load($node, 4, 600, <<'EOS');
\set id random(10000, 100000000)
\set old random(1, 2000)
BEGIN;
SELECT pg_advisory_xact_lock(:old);
INSERT INTO ours VALUES (:id, :old, repeat('n', :old)) ON CONFLICT DO NOTHING;
INSERT INTO twin VALUES (:id, :old, repeat('n', :old)) ON CONFLICT DO NOTHING;
UPDATE ours SET grp = :id % 100 WHERE id = :old;
UPDATE twin SET grp = :id % 100 WHERE id = :old;
COMMIT;
EOS
my $builders = start_load($node, 1, 600, <<'EOS');
CREATE INDEX CONCURRENTLY ours_extra ON ours (lower(left(v, 5)));
VACUUM ours;
DROP INDEX CONCURRENTLY ours_extra;
EOS
wait_for($node, 'SELECT count(*) > 3000 FROM ours');
my $rows = $node->safe_psql('postgres', 'SELECT count(*) FROM ours');
$node->backup('under_load');
$_->{harness}->kill_kill for ($load, $builders);

my $copy = PostgreSQL::Test::Cluster->new('copy');
$copy->init_from_backup($node, 'under_load');
$copy->start;
$node->stop;
cmp_ok($copy->safe_psql('postgres', 'SELECT count(*) FROM ours'), '>=', $rows, 'what was committed before is there');
twins_agree($copy, 'backup');
check_storage($copy, 'backup');
$copy->safe_psql('postgres', 'VACUUM FULL ours; REINDEX TABLE ours');
twins_agree($copy, 'after VACUUM FULL');
check_storage($copy, 'after VACUUM FULL');
$copy->stop;
done_testing();
