# The operations of test/conformance over distributed tables, asked of the coordinator and of a worker, with indexes that are distributed
# with their tables and by their own keys.
use strict;
use warnings;

use FindBin;
use Test::More;
use CitusNodes;

my $citus = CitusNodes->new;
my ($host, $port) = $citus->address(0);
$ENV{DISTRIBUTED} = "host=$host port=$port dbname=postgres";
$ENV{PGDATABASE} = 'postgres';
my $folder = "$FindBin::RealBin/../conformance";

for ([ table => 0 ], [ table => 1 ], [ key => 0 ], [ key => 1 ])
{
	my $n;
	local $ENV{INDEXES};
	($ENV{INDEXES}, $n) = @$_;
	local ($ENV{PGHOST}, $ENV{PGPORT}) = $citus->address($n);
	for my $runner ("$folder/run.py $folder/strategies.json", "$folder/partiql/run.py")
	{
		my $said = `/usr/bin/python3 $runner 2>&1`;
		is($?, 0, "node $n, indexes by $ENV{INDEXES}: " . ($said =~ /^(.*passed, .*failed)$/m ? $1 : $runner)) or diag($said);
		is($citus->sql(0, q{SELECT count(*) FROM pg_dist_partition WHERE partmethod = 'h' AND logicalrelid <> 'dynamo_internal.shared_tokens'::regclass}),
			'0', 'no table is left');
	}
	# the next node is asked to do the same, by the same tokens
	$citus->sql(0, 'DELETE FROM dynamo_internal.shared_tokens');
}

done_testing();
