# Definitions of tables as the tools make them that people write definitions for.  Each tool is played: it sends the requests
# that it makes of a definition, in its order and form, and waits for what it waits for.  Who makes which requests is known from
# - Terraform: hashicorp/terraform-provider-aws, internal/service/dynamodb: table.go (resourceTableCreate, -Read, -Update, -Delete,
#   updateDiffGSI), wait.go, status.go, tags_gen.go;
# - CloudFormation: the resource provider of AWS::DynamoDB::Table in localstack/localstack, and the permissions that the schema
#   of the resource type names for each step;
# - CDK: templates that its tests keep, aws/aws-cdk, packages/@aws-cdk-testing/framework-integ/test/aws-dynamodb;
# - Serverless Framework: 99x/serverless-dynamodb-local, index.js (createTable); elsewhere it goes by CloudFormation.
use strict;
use warnings;

use JSON::PP;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use DynamoTable;
use Frontend;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init(allows_streaming => 'logical');
allow_plugin($node);
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION dynamo_table');
$node->safe_psql('postgres', 'CALL dyn_setup_streams()');

my $json = JSON::PP->new->canonical;
my ($yes, $no) = (JSON::PP::true, JSON::PP::false);
my $missing = qr/^YD008: Requested resource not found: Table: /;

# The answer; an error is a string, with its SQLSTATE.
sub ask
{
	my ($operation, %request) = @_;
	my $session = Frontend->of_environment($node);
	my $answer = $session->ask("SELECT dyn_request('$operation', \$request\$" . $json->encode(\%request) . "\$request\$)");
	$session->close;
	return $answer->{error} ? "$answer->{error}{C}: $answer->{error}{M}" : $json->decode($answer->{rows}[0][0]);
}

# The answer of a request that must succeed.
sub done
{
	my ($what, @request) = @_;
	my $answer = ask(@request);
	ok(ref $answer, $what) or diag($answer);
	return $answer;
}

sub refused
{
	my ($what, $error, @request) = @_;
	my $answer = ask(@request);
	like(ref $answer ? 'no error' : $answer, $error, $what);
}

# Ask again until it is so, as tools do.
sub await
{
	my ($what, $wanted) = @_;
	wait_until($what, $wanted);
	pass($what);
}

sub described { return ask('DescribeTable', TableName => $_[0]) }

sub index_of
{
	my ($name, $index) = @_;
	my ($found) = grep { $_->{IndexName} eq $index } @{ described($name)->{Table}{GlobalSecondaryIndexes} // [] };
	return $found;
}

# Attributes and keys, as "name TYPE".
sub attributes { return [ map { my ($name, $type) = split; { AttributeName => $name, AttributeType => $type } } @_ ] }
sub keys_of { my $n = 0; return [ map { { AttributeName => $_, KeyType => $n++ ? 'RANGE' : 'HASH' } } @_ ] }
sub units { return { ReadCapacityUnits => $_[0], WriteCapacityUnits => $_[1] } }

sub index_on
{
	my ($name, $keys, %more) = @_;
	return { IndexName => $name, KeySchema => keys_of(@$keys), Projection => { ProjectionType => 'ALL' }, %more };
}

# Terraform

# Nothing is done further before the table and the units that it is warm for are active, and all its indexes.
sub terraform_wait
{
	my ($name) = @_;
	await("$name: the table becomes active", sub {
		my $table = described($name)->{Table};
		return $table->{TableStatus} eq 'ACTIVE' && $table->{WarmThroughput}{Status} eq 'ACTIVE'
			&& !grep { $_->{IndexStatus} ne 'ACTIVE' || $_->{WarmThroughput}{Status} ne 'ACTIVE' } @{ $table->{GlobalSecondaryIndexes} // [] } });
}

# What it reads after each step, to compare it with the definition.
sub terraform_read
{
	my ($name, $what) = @_;
	my $table = described($name)->{Table};
	my $backups = done("$name: backups are read", 'DescribeContinuousBackups', TableName => $name);
	my $ttl = done("$name: time to live is read", 'DescribeTimeToLive', TableName => $name);
	my $tags = done("$name: tags are read", 'ListTagsOfResource', ResourceArn => $table->{TableArn});
	is($backups->{ContinuousBackupsDescription}{PointInTimeRecoveryDescription}{PointInTimeRecoveryStatus}, 'DISABLED', "$name: there are no backups");
	return { %$table, ttl => $ttl->{TimeToLiveDescription}, tags => { map { $_->{Key} => $_->{Value} } @{ $tags->{Tags} } } };
}

sub terraform_create
{
	my ($name, %request) = @_;
	done("$name: created", 'CreateTable', TableName => $name, BillingMode => 'PAY_PER_REQUEST', KeySchema => keys_of('pk'),
		AttributeDefinitions => attributes('pk S'), %request);
	terraform_wait($name);
	return terraform_read($name);
}

# Each change is an UpdateTable of its own.
sub terraform_update
{
	my ($name, %request) = @_;
	done("$name: updated by " . join(', ', sort keys %request), 'UpdateTable', TableName => $name, %request);
	terraform_wait($name);
	return terraform_read($name);
}

sub terraform_ttl
{
	my ($name, $enabled) = @_;
	done("$name: time to live", 'UpdateTimeToLive', TableName => $name, TimeToLiveSpecification => { AttributeName => 'expires', Enabled => $enabled });
	await("$name: time to live is so", sub { ask('DescribeTimeToLive', TableName => $name)->{TimeToLiveDescription}{TimeToLiveStatus} eq ($enabled ? 'ENABLED'
	  : 'DISABLED') });
}

# An answer without keys and indexes; the table is gone when it is not found by the words that it looks for.
sub terraform_delete
{
	my ($name) = @_;
	my $answer = done("$name: deleted", 'DeleteTable', TableName => $name);
	is(join(' ', sort keys %{ $answer->{TableDescription} }),
		'BillingModeSummary DeletionProtectionEnabled ItemCount ProvisionedThroughput TableArn TableId TableName TableSizeBytes TableStatus',
		"$name: it is described as DynamoDB does");
	like(described($name), $missing, "$name: it is gone");
}

# Each block of aws_dynamodb_table alone: what it adds to CreateTable, and what is described then.
my %blocks = (
	none => [ {}, sub { !$_->{StreamSpecification} && !$_->{SSEDescription} && $_->{TableSizeBytes} == 0 &&
		$_->{BillingModeSummary}{LastUpdateToPayPerRequestDateTime} == $_->{CreationDateTime} } ],
	capacity => [ { BillingMode => 'PROVISIONED', ProvisionedThroughput => units(20, 10) },
		sub { $_->{BillingModeSummary}{BillingMode} eq 'PROVISIONED' && $_->{ProvisionedThroughput}{ReadCapacityUnits} == 20 &&
			$_->{WarmThroughput}{WriteUnitsPerSecond} == 10 } ],
	range_key => [ { KeySchema => keys_of(qw(pk sk)), AttributeDefinitions => attributes('pk S', 'sk N') }, sub { @{ $_->{KeySchema} } == 2 } ],
	table_class => [ { TableClass => 'STANDARD_INFREQUENT_ACCESS' }, sub { $_->{TableClassSummary}{TableClass} eq 'STANDARD_INFREQUENT_ACCESS' } ],
	on_demand_throughput => [ { OnDemandThroughput => { MaxReadRequestUnits => 5, MaxWriteRequestUnits => 6 } },
		sub { $_->{OnDemandThroughput}{MaxWriteRequestUnits} == 6 } ],
	warm_throughput => [ { WarmThroughput => { ReadUnitsPerSecond => 12100, WriteUnitsPerSecond => 4100 } },
		sub { $_->{WarmThroughput}{ReadUnitsPerSecond} == 12100 } ],
	server_side_encryption => [ { SSESpecification => { Enabled => $yes } }, sub { $_->{SSEDescription}{Status} eq 'ENABLED' } ],
	server_side_encryption_off => [ { SSESpecification => { Enabled => $no } }, sub { !$_->{SSEDescription} } ],
	stream => [ { StreamSpecification => { StreamEnabled => $yes, StreamViewType => 'NEW_AND_OLD_IMAGES' } },
		sub { $_->{StreamSpecification}{StreamEnabled} && $_->{LatestStreamArn} =~ /\.\d{3}$/ } ],
	tags => [ { Tags => [ { Key => 'Name', Value => 'table 1' }, { Key => 'Environment', Value => '' } ] },
		sub { $_->{tags}{Name} eq 'table 1' && $_->{tags}{Environment} eq '' } ],
	local_secondary_index => [ { KeySchema => keys_of(qw(pk sk)), AttributeDefinitions => attributes('pk S', 'sk N', 'l S'),
		LocalSecondaryIndexes => [ index_on('by-l', [qw(pk l)], Projection => { ProjectionType => 'INCLUDE', NonKeyAttributes => ['a'] }) ] },
		sub { $_->{LocalSecondaryIndexes}[0]{Projection}{NonKeyAttributes}[0] eq 'a' } ],
	global_secondary_index => [ { AttributeDefinitions => attributes('pk S', 'g S'),
		GlobalSecondaryIndexes => [ index_on('by-g', ['g'], OnDemandThroughput => { MaxReadRequestUnits => 7 },
		WarmThroughput => { ReadUnitsPerSecond => 12200, WriteUnitsPerSecond => 4200 }) ] },
		sub { my $index = $_->{GlobalSecondaryIndexes}[0]; $index->{OnDemandThroughput}{MaxReadRequestUnits} == 7 &&
			$index->{WarmThroughput}{WriteUnitsPerSecond} == 4200 && $index->{IndexSizeBytes} == 0 } ]);
foreach my $block (sort keys %blocks)
{
	my ($request, $is) = @{ $blocks{$block} };
	local $_ = terraform_create("tf-$block", %$request);
	ok($is->(), "tf-$block: it is described") or diag($json->encode($_));
	terraform_delete("tf-$block");
}

# Those that would have to keep or protect data in another way are refused by name; the table is there, as it is in AWS when a
# later step fails.
refused('tf: a key of encryption', qr/^YD001: Member "KMSMasterKeyId" is not supported/, 'CreateTable', TableName => 'tf-kms',
	BillingMode => 'PAY_PER_REQUEST', KeySchema => keys_of('pk'),
	AttributeDefinitions => attributes('pk S'), SSESpecification => { Enabled => $yes, SSEType => 'KMS',
		KMSMasterKeyId => 'arn:aws:kms:eu-west-1:123456789012:key/k' });
like(described('tf-kms'), $missing, 'tf: a refused table is not there');
terraform_create('tf-refused');
refused('tf: point_in_time_recovery', qr/^YD001: Point-in-time recovery cannot be enabled: the server does not archive its WAL: set archive_mode/,
	'UpdateContinuousBackups', TableName => 'tf-refused',
	PointInTimeRecoverySpecification => { PointInTimeRecoveryEnabled => $yes, RecoveryPeriodInDays => 35 });
$node->safe_psql('postgres', 'ALTER DATABASE postgres SET dynamo_table.continuous_backups = accept');
done('tf: point_in_time_recovery where the administrator takes it', 'UpdateContinuousBackups', TableName => 'tf-refused',
	PointInTimeRecoverySpecification => { PointInTimeRecoveryEnabled => $yes, RecoveryPeriodInDays => 30 });
is_deeply(done('tf: what it waits for', 'DescribeContinuousBackups', TableName => 'tf-refused')->{ContinuousBackupsDescription}{PointInTimeRecoveryDescription},
	{ PointInTimeRecoveryStatus => 'ENABLED', RecoveryPeriodInDays => 30 }, 'tf: point_in_time_recovery is described');
$node->safe_psql('postgres', 'ALTER DATABASE postgres RESET dynamo_table.continuous_backups');
done('tf: point_in_time_recovery that is off', 'UpdateContinuousBackups', TableName => 'tf-refused',
	PointInTimeRecoverySpecification => { PointInTimeRecoveryEnabled => $no });
refused('tf: replica', qr/^YD001: Member "ReplicaUpdates" is not supported/, 'UpdateTable', TableName => 'tf-refused',
	ReplicaUpdates => [ { Create => { RegionName => 'us-east-2' } } ]);
refused('tf: global_table_witness', qr/^YD001: Member "(MultiRegionConsistency|GlobalTableWitnessUpdates|ReplicaUpdates)" is not supported/, 'UpdateTable',
	TableName => 'tf-refused', MultiRegionConsistency => 'STRONG',
	GlobalTableWitnessUpdates => [ { Create => { RegionName => 'us-east-2' } } ], ReplicaUpdates => [ { Create => { RegionName => 'us-west-2' } } ]);
refused('tf: a replica is deleted', qr/^YD001: Member "ReplicaUpdates" is not supported/, 'UpdateTable', TableName => 'tf-refused',
	ReplicaUpdates => [ { Delete => { RegionName => 'us-east-2' } } ]);
refused('tf: import_table', qr/^YD014: /, 'ImportTable', TableCreationParameters => { TableName => 'tf-import' });
refused('tf: restore_source_name', qr/^YD014: /, 'RestoreTableToPointInTime', SourceTableName => 'tf-refused', TargetTableName => 'tf-restored');
terraform_delete('tf-refused');

# All of a life, with items in the table.
my $table = terraform_create('tf-life', DeletionProtectionEnabled => $yes, Tags => [ { Key => 'a', Value => '1' }, { Key => 'b', Value => '2' } ]);
ok($table->{DeletionProtectionEnabled}, 'tf-life: it is protected');
$node->safe_psql('postgres', q{SELECT dyn_put('tf-life', jsonb_build_object('pk', i::text, 'g', (i % 10)::text, 'h', i)) FROM generate_series(1, 1000) i});
refused('tf-life: a protected table stays', qr/^YD001: Resource cannot be deleted/, 'DeleteTable', TableName => 'tf-life');
terraform_ttl('tf-life', $yes);
is(terraform_read('tf-life')->{ttl}{AttributeName}, 'expires', 'tf-life: the attribute is read back');
refused('tf-life: time to live again', qr/^YD001: TimeToLive is already enabled$/, 'UpdateTimeToLive', TableName => 'tf-life',
	TimeToLiveSpecification => { AttributeName => 'expires', Enabled => $yes });
# tags: first those that go
done('tf-life: untagged', 'UntagResource', ResourceArn => $table->{TableArn}, TagKeys => ['a']);
done('tf-life: tagged', 'TagResource', ResourceArn => $table->{TableArn}, Tags => [ { Key => 'b', Value => '3' }, { Key => 'c', Value => '4' } ]);
is_deeply(terraform_read('tf-life')->{tags}, { b => '3', c => '4' }, 'tf-life: the tags are those of the definition');
# indexes: one at a time, first those that go; all definitions of attributes each time
my $defined = attributes('pk S', 'g S', 'h N');
foreach my $index (index_on('by-g', ['g']), index_on('by-h', [qw(g h)], OnDemandThroughput => { MaxReadRequestUnits => 9 },
	WarmThroughput => { ReadUnitsPerSecond => 12300, WriteUnitsPerSecond => 4300 }))
{
	done("tf-life: index $index->{IndexName}", 'UpdateTable', TableName => 'tf-life', GlobalSecondaryIndexUpdates => [ { Create => $index } ],
		AttributeDefinitions => $index->{IndexName} eq 'by-g' ? attributes('pk S', 'g S') : $defined);
	terraform_wait('tf-life');
}
is(index_of('tf-life', 'by-h')->{OnDemandThroughput}{MaxReadRequestUnits}, 9, 'tf-life: the index has its maximum');
is(ask('Query', TableName => 'tf-life', IndexName => 'by-g', KeyConditionExpression => 'g = :g', ExpressionAttributeValues => { ':g' => { S => '7' } },
	Select => 'COUNT')->{Count}, 100, 'tf-life: and its entries');
terraform_update('tf-life', GlobalSecondaryIndexUpdates => [
	{ Update => { IndexName => 'by-h', OnDemandThroughput => { MaxReadRequestUnits => 19, MaxWriteRequestUnits => 20 } } } ]);
terraform_update('tf-life', GlobalSecondaryIndexUpdates => [
	{ Update => { IndexName => 'by-h', WarmThroughput => { ReadUnitsPerSecond => 12400, WriteUnitsPerSecond => 4400 } } } ]);
is(index_of('tf-life', 'by-h')->{WarmThroughput}{ReadUnitsPerSecond}, 12400, 'tf-life: the index is warm for more');
# from on demand to provisioned, where all indexes need units, and back, where none is told
$table = terraform_update('tf-life', BillingMode => 'PROVISIONED', ProvisionedThroughput => units(5, 5),
	GlobalSecondaryIndexUpdates => [ map { { Update => { IndexName => $_, ProvisionedThroughput => units(2, 3) } } } qw(by-g by-h) ]);
is($table->{GlobalSecondaryIndexes}[1]{ProvisionedThroughput}{WriteCapacityUnits}, 3, 'tf-life: the indexes have units');
terraform_update('tf-life', BillingMode => 'PROVISIONED', ProvisionedThroughput => units(6, 5));
$table = terraform_update('tf-life', BillingMode => 'PAY_PER_REQUEST');
is($table->{ProvisionedThroughput}{ReadCapacityUnits}, 0, 'tf-life: no units any more');
# one concern at a time
is(terraform_update('tf-life', TableClass => 'STANDARD_INFREQUENT_ACCESS')->{TableClassSummary}{TableClass}, 'STANDARD_INFREQUENT_ACCESS',
	'tf-life: the class');
is(terraform_update('tf-life', OnDemandThroughput => { MaxReadRequestUnits => 100 })->{OnDemandThroughput}{MaxReadRequestUnits}, 100, 'tf-life: a maximum');
ok(!terraform_update('tf-life', OnDemandThroughput => { MaxReadRequestUnits => -1 })->{OnDemandThroughput}, 'tf-life: and none');
is(terraform_update('tf-life', WarmThroughput => { ReadUnitsPerSecond => 13000, WriteUnitsPerSecond => 5000 })->{WarmThroughput}{WriteUnitsPerSecond}, 5000,
	'tf-life: warm');
is(terraform_update('tf-life', SSESpecification => { Enabled => $yes })->{SSEDescription}{Status}, 'ENABLED', 'tf-life: encryption is described');
ok(!terraform_update('tf-life', SSESpecification => { Enabled => $no })->{SSEDescription}, 'tf-life: and not');
ok(terraform_update('tf-life', StreamSpecification => { StreamEnabled => $yes, StreamViewType => 'KEYS_ONLY' })->{StreamSpecification}, 'tf-life: a stream');
# another view by another stream
terraform_update('tf-life', StreamSpecification => { StreamEnabled => $no });
is(terraform_update('tf-life', StreamSpecification => { StreamEnabled => $yes, StreamViewType => 'NEW_IMAGE' })->{StreamSpecification}{StreamViewType},
	'NEW_IMAGE', 'tf-life: another stream');
ok(!terraform_update('tf-life', StreamSpecification => { StreamEnabled => $no })->{StreamSpecification}, 'tf-life: none');
terraform_ttl('tf-life', $no);
foreach my $index (qw(by-g by-h))
{
	done("tf-life: $index goes", 'UpdateTable', TableName => 'tf-life', GlobalSecondaryIndexUpdates => [ { Delete => { IndexName => $index } } ]);
	await("tf-life: $index is gone", sub { !index_of('tf-life', $index) });
}
refused('tf-life: nothing to change', qr/^YD001: At least one of /, 'UpdateTable', TableName => 'tf-life');
terraform_update('tf-life', DeletionProtectionEnabled => $no);
terraform_delete('tf-life');
refused('tf-life: it is deleted already', $missing, 'DeleteTable', TableName => 'tf-life');

# CloudFormation

# What of the properties is in CreateTable, and by which names.
sub cloudformation_request
{
	my ($name, %properties) = @_;
	my %request = (TableName => $name, map { $_ => $properties{$_} } grep { exists $properties{$_} } qw(AttributeDefinitions KeySchema BillingMode
		ProvisionedThroughput OnDemandThroughput
		WarmThroughput LocalSecondaryIndexes GlobalSecondaryIndexes Tags TableClass DeletionProtectionEnabled ResourcePolicy));
	if (my $encryption = $properties{SSESpecification})
	{
		$request{SSESpecification} = {%$encryption};
		$request{SSESpecification}{Enabled} = delete $request{SSESpecification}{SSEEnabled};
	}
	$request{StreamSpecification} = { StreamEnabled => $yes, %{ $properties{StreamSpecification} } } if $properties{StreamSpecification};
	return %request;
}

sub cloudformation
{
	my ($name, %properties) = @_;
	my $created = done("$name: created", 'CreateTable', cloudformation_request($name, %properties));
	await("$name: it becomes active", sub { described($name)->{Table}{TableStatus} eq 'ACTIVE' });
	my $ttl = $properties{TimeToLiveSpecification};
	done("$name: time to live", 'UpdateTimeToLive', TableName => $name, TimeToLiveSpecification => $ttl) if $ttl;
	refused("$name: backups", qr/^YD001: Point-in-time recovery cannot be enabled: the server does not archive its WAL/, 'UpdateContinuousBackups',
		TableName => $name, PointInTimeRecoverySpecification => $properties{PointInTimeRecoverySpecification})
		if $properties{PointInTimeRecoverySpecification};
	# what it reads, to tell of drift
	my $table = done("$name: read", 'DescribeTable', TableName => $name)->{Table};
	done("$name: backups are read", 'DescribeContinuousBackups', TableName => $name);
	is(done("$name: time to live is read", 'DescribeTimeToLive', TableName => $name)->{TimeToLiveDescription}{TimeToLiveStatus}, $ttl ? 'ENABLED' : 'DISABLED',
		"$name: it is so");
	is_deeply(done("$name: tags are read", 'ListTagsOfResource', ResourceArn => $created->{TableDescription}{TableArn})->{Tags}, $properties{Tags} // [],
		"$name: they are so");
	return $table;
}

sub cloudformation_delete
{
	my ($name) = @_;
	done("$name: deleted", 'DeleteTable', TableName => $name);
	like(described($name), $missing, "$name: it is gone");
}

# As the CDK has it: all kinds of indexes, with streams, tags, backups, encryption and time to live
my @provisioned = (ProvisionedThroughput => units(5, 5));
$table = cloudformation('cdk-all', KeySchema => keys_of(qw(hash sort)), AttributeDefinitions => attributes('hash S', 'sort N', 'g S', 'h N', 'l N'),
	@provisioned,
	GlobalSecondaryIndexes => [ index_on('GSI-PartitionKeyOnly', ['g'], @provisioned), index_on('GSI-Capacity', [qw(g h)], ProvisionedThroughput => units(10, 10)),
		index_on('GSI-KeysOnly', [qw(g h)], @provisioned, Projection => { ProjectionType => 'KEYS_ONLY' }),
		index_on('GSI-Include', [qw(g h)], @provisioned, Projection => { NonKeyAttributes => [ 'A' .. 'J' ], ProjectionType => 'INCLUDE' }),
		index_on('GSI-Inverse', [qw(sort hash)], @provisioned) ],
	LocalSecondaryIndexes => [ index_on('LSI-Sort', [qw(hash l)]), index_on('LSI-TableSort', [qw(hash sort)]),
		index_on('LSI-KeysOnly', [qw(hash l)], Projection => { ProjectionType => 'KEYS_ONLY' }),
		index_on('LSI-Include', [qw(hash l)], Projection => { NonKeyAttributes => [ 'K' .. 'T' ], ProjectionType => 'INCLUDE' }) ],
	PointInTimeRecoverySpecification => { PointInTimeRecoveryEnabled => $yes }, SSESpecification => { SSEEnabled => $yes },
	StreamSpecification => { StreamViewType => 'KEYS_ONLY' },
	Tags => [ { Key => 'Environment', Value => 'Production' } ], TimeToLiveSpecification => { AttributeName => 'timeToLive', Enabled => $yes });
is(@{ $table->{GlobalSecondaryIndexes} } + @{ $table->{LocalSecondaryIndexes} }, 9, 'cdk-all: nine indexes');
is($table->{SSEDescription}{Status}, 'ENABLED', 'cdk-all: encryption');
cloudformation_delete('cdk-all');
cloudformation('cdk-plain', KeySchema => keys_of('hash'), AttributeDefinitions => attributes('hash S'), @provisioned,
	SSESpecification => { SSEEnabled => $no });
cloudformation_delete('cdk-plain');
refused('cdk: a key of the customer', qr/^YD001: Member "KMSMasterKeyId" is not supported/, 'CreateTable',
	cloudformation_request('cdk-key', KeySchema => keys_of('hash'), AttributeDefinitions => attributes('hash S'),
	@provisioned, SSESpecification => { KMSMasterKeyId => 'arn:aws:kms:eu-west-1:123456789012:key/k', SSEEnabled => $yes, SSEType => 'KMS' }));
refused('cdk: a policy', qr/^YD001: Member "ResourcePolicy" is not supported/, 'CreateTable',
	cloudformation_request('cdk-policy', KeySchema => keys_of('hash'), AttributeDefinitions => attributes('hash S'), @provisioned,
		ResourcePolicy => '{"Version": "2012-10-17"}'));
# TableV2 is a global table: in one region it is a table, and the others are replicas
$table = cloudformation('cdk-v2', KeySchema => keys_of('id'), AttributeDefinitions => attributes('id S', 'g S'), BillingMode => 'PAY_PER_REQUEST',
	StreamSpecification => { StreamViewType => 'NEW_AND_OLD_IMAGES' },
	WarmThroughput => { ReadUnitsPerSecond => 14000, WriteUnitsPerSecond => 5000 },
	OnDemandThroughput => { MaxReadRequestUnits => 10, MaxWriteRequestUnits => 10 },
	GlobalSecondaryIndexes => [ index_on('my-index-1', ['g'], WarmThroughput => { ReadUnitsPerSecond => 15000, WriteUnitsPerSecond => 6000 }),
		index_on('my-index-2', ['g']) ]);
is(index_of('cdk-v2', 'my-index-1')->{WarmThroughput}{ReadUnitsPerSecond}, 15000, 'cdk-v2: an index that is warm');
refused('cdk-v2: replicas', qr/^YD001: Member "ReplicaUpdates" is not supported/, 'UpdateTable', TableName => 'cdk-v2',
	ReplicaUpdates => [ { Create => { RegionName => 'eu-west-1', GlobalSecondaryIndexes => [ { IndexName => 'my-index-1' } ] } } ]);
cloudformation_delete('cdk-v2');

# Serverless, by CloudFormation: properties of a template
cloudformation('sls-todos', KeySchema => keys_of('id'), AttributeDefinitions => attributes('id S'), ProvisionedThroughput => units(1, 1));
cloudformation_delete('sls-todos');
# and by its plugin for a local service, which takes all for provisioned, leaves out tags, time to live and backups, and may name no encryption
$table = done('sls-local: created', 'CreateTable', TableName => 'sls-local', KeySchema => keys_of('id'), AttributeDefinitions => attributes('id S', 'g S'),
	@provisioned, GlobalSecondaryIndexes => [ index_on('by-g', ['g'], @provisioned) ],
	SSESpecification => { Enabled => $yes }, StreamSpecification => { StreamViewType => 'NEW_IMAGE', StreamEnabled => $yes });
refused('sls-local: it is there, which the plugin takes for success', qr/^YD009: Table already exists: sls-local$/, 'CreateTable', TableName => 'sls-local',
	KeySchema => keys_of('id'), AttributeDefinitions => attributes('id S'), @provisioned);
cloudformation_delete('sls-local');

ok($node->poll_query_until('postgres', q{SELECT count(*) = 0 FROM pg_stat_activity WHERE backend_type LIKE 'dynamo_table index%'}), 'no worker is left');
is($node->safe_psql('postgres', q{SELECT count(*) FROM pg_class c JOIN pg_am a ON a.oid = c.relam WHERE a.amname = 'dynamo_table'}), '0', 'nor a table');
done_testing();
