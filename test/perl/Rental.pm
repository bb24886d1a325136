# The relational sample test/sample/rental.sql as one table of items: what its tests share.
package Rental;

use strict;
use warnings;

use Exporter 'import';
use FindBin;
use IPC::Run ();
use PostgreSQL::Test::Utils;
use Test::More;

our @EXPORT = qw(load_rental begin_migration end_session migration_is_equal make_report_views reports);

my $sample = "$FindBin::RealBin/../sample";

# The relations, the model, and the migration between them.
sub load_rental
{
	my ($node, $scale) = @_;
	$node->safe_psql('postgres', 'CREATE EXTENSION dynamo_table');
	for my $file ('rental.sql', 'rental_model.sql')
	{
		$node->command_ok([ 'psql', '-XAtq', '-v', 'ON_ERROR_STOP=1', '-v', "scale=$scale", '-f', "$sample/$file", 'postgres' ], $file);
	}
}

# CALL dyn_migrate() in a session of its own.
sub begin_migration
{
	my ($node, $batch) = @_;
	my %session = (out => '', err => '');
	$session{harness} = IPC::Run::start(
		[ 'psql', '-XAtq', '-d', $node->connstr('postgres'), '-c', "CALL dyn_migrate('rental', batch_size => $batch)" ],
		'>', \$session{out}, '2>', \$session{err});
	return \%session;
}

# Returns what it has said.
sub end_session
{
	my ($session) = @_;
	eval { $session->{harness}->finish };
	return $session->{err};
}

sub migration_is_equal
{
	my ($node, $name) = @_;
	my $differences = $node->safe_psql('postgres', q{SELECT step, entity, source_row, difference FROM dyn_verify_migration('rental') LIMIT 20});
	is($differences, '', "$name: rows and items are equal");
}

# Views with the names of the relations and of their columns, over views of the entities.
sub make_report_views
{
	my ($node) = @_;
	$node->safe_psql('postgres', q{
		CREATE SCHEMA video_views;
		SELECT dyn_create_entity_view('video', entity) FROM dyn_entities('video');
		DO $$
		DECLARE
			kind text;
			columns text;
		BEGIN
			FOR kind IN SELECT entity FROM dyn_entities('video')
			LOOP
				SELECT string_agg(format('%I AS %I', attname, lower(regexp_replace(attname, '([a-z])([A-Z])', '\1_\2', 'g'))), ', ' ORDER BY attnum) INTO columns
					FROM pg_attribute WHERE attrelid = quote_ident(kind)::regclass AND attnum > 0;
				EXECUTE format('CREATE VIEW video_views.%I AS SELECT %s FROM public.%I', lower(regexp_replace(kind, '([a-z])([A-Z])', '\1_\2', 'g')), columns, kind);
			END LOOP;
		END $$});
}

# The reports by their titles, as statements.
sub reports
{
	my $text = slurp_file("$sample/rental_reports.sql");
	my @reports;
	push @reports, [ $1, $2 ] while $text =~ /^-- ([^\n]*)\n((?:SELECT|WITH).*?;)\n/msg;
	return @reports;
}

1;
