# The command dynamo_table: items in and out of files, what is wrong with them, interruptions; and that imports are changes like others.
use strict;
use warnings;

use File::Basename;
use IPC::Run;
use POSIX qw(mkfifo);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use DynamoTable;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
allow_plugin($node);
$node->append_conf('postgresql.conf', "wal_level = logical\nautovacuum = off\n");
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION dynamo_table');
my $dir = $node->basedir . '/files';
mkdir $dir or die $!;

sub value
{
	return $node->safe_psql('postgres', $_[0]);
}

sub create_table
{
	my ($name) = @_;
	value(qq{SELECT dyn_create_table('$name', 'pk S', 'sk N', global_indexes => '{"GSI1": {"partition_key": "g S"}}')});
}

# Run the command; what it says, and its exit status.
sub command
{
	my ($out, $err);
	my @call = ('dynamo_table', shift, '-h', $node->host, '-p', $node->port, '-d', 'postgres', @_);
	IPC::Run::run(\@call, '<', \'', '>', \$out, '2>', \$err);
	return ($? >> 8, $out, $err);
}

sub write_file
{
	my ($name, $text) = @_;
	open my $file, '>:raw', "$dir/$name" or die $!;
	print $file $text;
	close $file;
	return "$dir/$name";
}

sub gzip_file
{
	my ($name, $text) = @_;
	my $plain = write_file("$name.plain", $text);
	system("gzip -c '$plain' >'$dir/$name'") == 0 or die;
	unlink $plain;
	return "$dir/$name";
}

sub lines
{
	my ($pk, $from, $to) = @_;
	return join '', map { qq({"Item":{"pk":{"S":"$pk"},"sk":{"N":"$_"},"g":{"S":"g\\\\\\"'\\u0000 $_"},"v":{"M":{"l":{"L":[{"N":"1.5"},{"SS":["a","b"]}]}}}}}\n)
		} $from .. $to;
}

sub count
{
	my ($table) = @_;
	return value(qq{SELECT count(*) FROM "$table"});
}

create_table('app');

# lines, as they are and compressed, several at a time; a name that wants quoting
my $plain = write_file("a 'b\" \\ & |.json", lines('a', 1, 500));
my ($status, $out, $err) = command('import', '--table', 'app', '--jobs', 3, $plain, gzip_file('b.json.gz', lines('b', 1, 700)),
	write_file('c.json', lines('c', 1, 3)));
is($status, 0, 'files are imported') or diag($err);
like($err, qr/3 files, 1203 items, 0 skipped, 0 kept as they were, \d+ bytes, \d+ items\/s/, 'which is said');
is(count('app'), 1203, 'all of them');
is($out, '', 'and nothing on the standard output');

# out and in again
($status, $out, $err) = command('export', '--table', 'app', "$dir/out.json");
is($status, 0, 'a table is exported');
like($err, qr/1203 items/, 'which is said');
($status) = command('export', '--table', 'app', '--gzip', "$dir/out.json.gz");
is(`gzip -dc '$dir/out.json.gz'`, slurp_file("$dir/out.json"), 'compressed likewise');
create_table('copy');
($status) = command('import', '-q', '--table=copy', "$dir/out.json.gz");
is(value('SELECT count(*) FROM app FULL JOIN copy USING (pk, sk) WHERE app.item IS DISTINCT FROM copy.item'), 0, 'what comes out can go in');
($status, $out) = command('export', '--table', 'app');
is($out, slurp_file("$dir/out.json"), 'to the standard output');
my $stdin = `dynamo_table import -q -h '@{[$node->host]}' -p @{[$node->port]} -d postgres --table app --on-conflict keep - <'$dir/out.json' && echo done`;
is($stdin, "done\n", 'from the standard input');

# CSV: the columns are all attributes that there are; values with structure are JSON
create_table('csv');
value(q{SELECT dyn_import_lines('csv',
	e'{"pk":{"S":"x, \\\\"y\\\\""},"sk":{"N":"1"},"odd name":{"L":[{"N":"1"}]}}\n{"pk":{"S":"y"},"sk":{"N":"2"},"flag":{"BOOL":true}}')});
($status, $out) = command('export', '--table', 'csv', '--format', 'csv');
is($out, qq(flag,odd name,pk,sk\n,[1],"x, ""y""",1\nt,,y,2\n) =~ s/\nt,/\ntrue,/r, 'CSV');

($status, $out, $err) = command('export', '--table', 'app', '--format', 'csv');
like($err, qr/string contains U\+0000/, 'which cannot hold U+0000');
# of an entity: its attributes, by the names that they have there
value(q{SELECT dyn_create_entity('csv', 'User', '{"pk": "USER#<Name>", "sk": "<Number>"}',
	'{"Name": "S text", "Number": "N integer", "Born": {"type": "S date", "stored": "b"}}')});
value(q{SELECT dyn_put_entity('csv', 'User', '{"Name": "Ann", "Number": 1, "Born": "2001-02-03"}'::jsonb),
	dyn_put_entity('csv', 'User', '{"Name": "Bob", "Number": 2}'::jsonb)});
($status, $out, $err) = command('export', '--table', 'csv', '--format', 'csv', '--entity', 'User');
is($out, "Born,Name,Number\n2001-02-03,Ann,1\n,Bob,2\n", 'CSV of an entity') or diag($err);
($status, $out, $err) = command('export', '--table', 'csv', '--entity', 'User');
is($out, qq({"Item":{"Name":{"S":"Ann"},"Number":{"N":"1"},"Type":{"S":"User"},"b":{"S":"2001-02-03"},"pk":{"S":"USER#Ann"},"sk":{"N":"1"}}}\n)
  . qq({"Item":{"Name":{"S":"Bob"},"Number":{"N":"2"},"Type":{"S":"User"},"pk":{"S":"USER#Bob"},"sk":{"N":"2"}}}\n), 'lines of an entity');
($status, $out, $err) = command('export', '--table', 'csv', '--format', 'csv', '--entity', 'Nobody');
is($status, 1, 'of an entity that is not there');
like($err, qr/entity "Nobody" of table "csv" does not exist/, 'nothing');

# bad lines by their numbers
my $bad = write_file('bad.json', "\xef\xbb\xbf" . lines('bad', 1, 2) . "\n" . qq({"pk":{"S":"bad"}}\r\n) . "nonsense\n"
  . qq({"pk":{"S":"\x01"},"sk":{"N":"1"}}\n) . lines('bad', 3, 3));
($status, $out, $err) = command('import', '--table', 'app', $bad);
is($status, 1, 'a bad line ends an import');
like($err, qr/bad\.json: ERROR:  line 4: key attribute "sk" is missing/, 'and is named');
($status, $out, $err) = command('import', '--table', 'app', '--on-error', 'skip', $bad);
is($status, 3, 'bad lines can be skipped');
like($err, qr/bad\.json: line 4: key attribute "sk" is missing.*bad\.json: line 5: invalid item: malformed JSON .*bad\.json: line 6: /s, 'and are named');
is(value(q{SELECT count(*) FROM app WHERE pk = 'bad'}), 3, 'the others are there');
($status, $out, $err) = command('import', '--table', 'app', '--on-conflict', 'error', $plain);
like($err, qr/line 1: there is an item with this key already/, 'items that are there can be an error');

# what COPY takes for the end of its data is a line like others
my $end = write_file('end.json', lines('end', 1, 2) . "\\.\n" . lines('end', 3, 3));
($status, $out, $err) = command('import', '--table', 'app', $end);
is($status, 1, 'no line ends an import as if it were done');
like($err, qr/end\.json: ERROR:  line 3: /, 'and it is named');
($status) = command('import', '--table', 'app', '--on-error', 'skip', $end);
is($status, 3, 'or skipped');
is(value(q{SELECT count(*) FROM app WHERE pk = 'end'}), 3, 'and those behind it are there');
value(q{DELETE FROM app WHERE pk = 'end'});

# names that are longer than those of columns are whole
my @long = map { ('long' x 20) . $_ } 1, 2;
create_table('long');
value(qq{SELECT dyn_put('long', '{"pk": "a", "sk": 1, "$long[0]": "one", "$long[1]": "two"}'::jsonb)});
($status, $out, $err) = command('export', '--table', 'long', '--format', 'csv');
is($out, "$long[0],$long[1],pk,sk\none,two,a,1\n", 'CSV of attributes with long names');
unlike($err, qr/NOTICE/, 'of which none is cut off');
value(qq{SELECT dyn_create_entity('long', 'Long', '{"pk": "<pk>", "sk": "<sk>"}', '{"pk": "S", "sk": "N", "$long[0]": "S"}')});
($status, $out, $err) = command('export', '--table', 'long', '--format', 'csv', '--entity', 'Long');
like($out, qr/^$long[0],pk,sk\n/, 'and of an entity');

# what is no file stays what it is, and what a link leads to is written
mkfifo("$dir/fifo", 0600) or die;
my $reader = IPC::Run::start(['cat', "$dir/fifo"], '>', \my $read);
($status) = command('export', '--table', 'csv', "$dir/fifo");
IPC::Run::finish($reader);
ok(-p "$dir/fifo", 'a pipe is no file to replace');
is($read =~ tr/\n//, 4, 'and gets the lines');
symlink("linked.json", "$dir/link.json") or die;
($status) = command('export', '--table', 'csv', "$dir/link.json");
ok(-l "$dir/link.json", 'nor is a link');
is(slurp_file("$dir/linked.json"), $read, 'which leads to what was exported');

# a transaction has one batch, in the order of the keys: so imports of the same keys wait for each other, and never in a circle
create_table('busy');
value(q{CREATE TABLE stage AS SELECT format('{"pk":{"S":"%s"},"sk":{"N":"1"},"n":{"N":"%s"}}', i % 1000, i) AS line FROM generate_series(1, 10000) i
	ORDER BY md5(i::text)});
my @busy = map { my $errors = ''; [IPC::Run::start(['psql', '-Xq', '-d', $node->connstr('postgres'), '-c',
	"CALL dyn_import('busy', 'stage', batch_size => 400, on_conflict => '$_')"], '>', \my $none, '2>', \$errors), \$errors] } qw(replace keep replace keep);
IPC::Run::finish($_->[0]) for @busy;
is(join('', map { ${ $_->[1] } } @busy), '', 'none of several imports at once fails');
is(count('busy'), 1000, 'and each key is there once');

# an export to S3: the files that its manifest names
my $folder = "$dir/s3/AWSDynamoDB/01693685827463-2d8752fd";
system("mkdir -p '$folder/data'") == 0 or die;
my @manifest;
for my $part (1 .. 3)
{
	system("gzip -c >'$folder/data/part$part.json.gz' <'" . write_file('part', lines("s$part", 1, $part * 10)) . "'") == 0 or die;
	push @manifest, sprintf('{"itemCount":%d,"md5Checksum":"x==","etag":"e","dataFileS3Key":"AWSDynamoDB/01693685827463-2d8752fd/data/part%d.json.gz"}',
		$part * 10, $part);
}
write_file('s3/AWSDynamoDB/01693685827463-2d8752fd/manifest-summary.json', '{"version":"2020-06-30","itemCount":60,"outputFormat":"DYNAMODB_JSON"}');
write_file('s3/AWSDynamoDB/01693685827463-2d8752fd/manifest-files.json', join("\n", @manifest) . "\n");
write_file('s3/AWSDynamoDB/01693685827463-2d8752fd/data/stray.json', "nonsense\n");
create_table('exported');
($status, $out, $err) = command('import', '--table', 'exported', '--jobs', 2, "$dir/s3");
is($status, 0, 'a folder is imported') or diag($err);
is(count('exported'), 60, 'all its items');
write_file('s3/AWSDynamoDB/01693685827463-2d8752fd/manifest-files.json', $manifest[0] =~ s/10,/11,/r . "\n");
($status, $out, $err) = command('import', '--table', 'exported', "$dir/s3");
is($status, 1, 'a file that lacks items');
like($err, qr/has 10 items, but the manifest says 11/, 'is noticed');
write_file('s3/AWSDynamoDB/01693685827463-2d8752fd/manifest-files.json', $manifest[0] . qq(\n{"unknown":1}\n));
($status, $out, $err) = command('import', '--table', 'exported', "$dir/s3");
like($err, qr/is not understood/, 'and so is a manifest of another kind');
write_file('s3/AWSDynamoDB/01693685827463-2d8752fd/manifest-files.json', '[' . join(',', @manifest) . "]\n");
($status, $out, $err) = command('import', '--table', 'exported', "$dir/s3");
like($err, qr/is not understood/, 'and one with all its files in a line, of which one would be imported');
write_file('s3/AWSDynamoDB/01693685827463-2d8752fd/manifest-files.json', $manifest[0] . "\n");
# data that is a link may be anybody's
rename "$folder/data/part1.json.gz", "$dir/elsewhere.json.gz" and symlink("../../../../elsewhere.json.gz", "$folder/data/part1.json.gz") or die $!;
($status, $out, $err) = command('import', '--table', 'exported', "$dir/s3");
like($err, qr/part1\.json\.gz is a link\n/, 'data of a manifest is no link');
is($status, 1, 'which fails');
rename "$dir/elsewhere.json.gz", "$folder/data/part1.json.gz" or die $!;
rename "$folder/data", "$dir/elsewhere" and symlink("../../../elsewhere", "$folder/data") or die $!;
($status, $out, $err) = command('import', '--table', 'exported', "$dir/s3");
like($err, qr/data is a link\n/, 'nor is their folder');
is($status, 1, 'which fails, too');
unlink "$folder/data" and rename "$dir/elsewhere", "$folder/data" or die $!;
# its name may be an option of find, which removes files
mkdir "$dir/names" and mkdir "$dir/names/-delete" or die $!;
write_file('names/kept', '');
IPC::Run::run(['sh', '-c', 'cd "$0" && "$@"', "$dir/names", 'dynamo_table', 'import', '--table', 'exported', '--', '-delete'], '2>', \$err);
is($err, "dynamo_table: ./-delete has no files *.json, *.json.gz or *.json.zst\n", 'a folder whose name is an option');
ok(-e "$dir/names/kept", 'removes nothing');
# or have lines, of which the second one is a file elsewhere
mkdir "$dir/names/a\n" and mkdir "$dir/names/a\n/tmp" or die $!;
($status, $out, $err) = command('import', '--table', 'exported', "$dir/names");
is("$status $err", "1 dynamo_table: $dir/names has a name of several lines\n", 'a folder with a name of several lines');
unlink "$folder/data/part1.json.gz";
($status, $out, $err) = command('import', '--table', 'exported', "$dir/s3");
like($err, qr/is named by .*manifest-files\.json, but is not there/, 'as is one that is not there');
is($status, 1, 'which fails');
unlink "$folder/manifest-files.json", "$folder/data/stray.json";
($status, $out, $err) = command('import', '--table', 'exported', $folder);
is($status, 0, 'a folder without a manifest');
like($err, qr/2 files, 50 items/, 'has all its files imported');

# a model
my $model = write_file('model.json', '{"ModelName":"m","DataModel":[
	{"TableName":"Model","KeyAttributes":{"PartitionKey":{"AttributeName":"p","AttributeType":"S"}},"TableData":[{"p":{"S":"it\'s"}}]}]}');
($status, $out, $err) = command('workbench', '--prefix', 'dev-', $model);
is($out, "dev-Model: 0 indexes, 1 items\n", 'a model is imported') or diag($err);
is(count('dev-Model'), 1, 'with its data');
($status, $out, $err) = command('workbench', '--prefix', 'dev-', $model);
is($status, 1, 'but not twice');
like($err, qr/Table "dev-Model" already exists/, 'since the table is there');

# of more tables, with facets, indexes and capacity; what the table itself has counts more than what a facet shows
my $shop = write_file('shop.json', <<'END');
{"ModelName": "Shop", "ModelMetadata": {"Author": "A", "Version": "3.0"}, "DataModel": [
	{"TableName": "OnlineShop", "KeyAttributes": {"PartitionKey": {"AttributeName": "PK", "AttributeType": "S"},
		"SortKey": {"AttributeName": "SK", "AttributeType": "S"}},
	 "NonKeyAttributes": [{"AttributeName": "GSI1-PK", "AttributeType": "S"}, {"AttributeName": "Detail", "AttributeType": "M"}],
	 "TableFacets": [
		{"TableData": [{"PK": {"S": "c#1"}, "SK": {"S": "c#1"}, "Email": {"S": "a@example.com"}},
			{"PK": {"S": "c#2"}, "SK": {"S": "c#2"}, "Email": {"S": "of the facet"}}], "FacetName": "customer"},
		{"FacetName": "product", "KeyAttributeAlias": {"PartitionKeyAlias": "PK", "SortKeyAlias": "SK"}, "NonKeyAttributes": []}],
	 "GlobalSecondaryIndexes": [
		{"IndexName": "GSI1", "KeyAttributes": {"PartitionKey": {"AttributeName": "GSI1-PK", "AttributeType": "S"},
			"SortKey": {"AttributeName": "GSI1-SK", "AttributeType": "N"}}},
		{"IndexName": "by-sk", "KeyAttributes": {"PartitionKey": {"AttributeName": "SK", "AttributeType": "S"}},
			"Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["Email", "Detail"]}}],
	 "LocalSecondaryIndexes": [{"IndexName": "LSI1",
	 	"KeyAttributes": {"PartitionKey": {"AttributeName": "PK", "AttributeType": "S"}, "SortKey": {"AttributeName": "Date", "AttributeType": "S"}},
	 	"Projection": {"ProjectionType": "KEYS_ONLY"}}],
	 "TableData": [{"PK": {"S": "c#2"}, "SK": {"S": "c#2"}, "Email": {"S": "of the table"}},
	 	{"PK": {"S": "p#1"}, "SK": {"S": "p#1"}, "GSI1-PK": {"S": "x"}, "GSI1-SK": {"N": "7"}, "Detail": {"M": {"Name": {"S": "Book"}}},
	 	"Tags": {"SS": ["a", "b"]}}],
	 "DataAccess": {"MySql": {}}, "BillingMode": "PROVISIONED",
	 "ProvisionedCapacitySettings": {"ProvisionedThroughput": {"ReadCapacityUnits": 5, "WriteCapacityUnits": 6},
	 	"AutoScalingRead": {"ScalableTargetRequest": {"MinCapacity": 1, "MaxCapacity": 10}}}},
	{"TableName": "Employee.x", "KeyAttributes": {"PartitionKey": {"AttributeName": "LoginAlias", "AttributeType": "S"}}, "NonKeyAttributes": []}]}
END
($status, $out, $err) = command('workbench', $shop);
is($out, "OnlineShop: 3 indexes, 3 items\nEmployee.x: 0 indexes, 0 items\n", 'a model of two tables') or diag($err);
is($err, qq(dynamo_table: NOTICE:  facets of table "OnlineShop" are not kept: "customer", "product"\n)
  . qq(dynamo_table: HINT:  Declare them as entities with dyn_create_entity.\n), 'whose facets are named');
is(value('SELECT item FROM "OnlineShop" ORDER BY "PK"'), <<'END' =~ s/\n\z//r, 'its items');
{"Email":{"S":"a@example.com"},"PK":{"S":"c#1"},"SK":{"S":"c#1"}}
{"Email":{"S":"of the table"},"PK":{"S":"c#2"},"SK":{"S":"c#2"}}
{"Detail":{"M":{"Name":{"S":"Book"}}},"GSI1-PK":{"S":"x"},"GSI1-SK":{"N":"7"},"PK":{"S":"p#1"},"SK":{"S":"p#1"},"Tags":{"SS":["a","b"]}}
END
is(value(q{SELECT i ->> 'IndexName', i -> 'KeySchema', i -> 'Projection', i -> 'ProvisionedThroughput' ->> 'WriteCapacityUnits'
	FROM dyn_describe_table('OnlineShop') d, jsonb_array_elements((d -> 'GlobalSecondaryIndexes') || (d -> 'LocalSecondaryIndexes')) i ORDER BY 1}),
		<<'END' =~ s/\n\z//r, 'its indexes');
GSI1|[{"KeyType": "HASH", "AttributeName": "GSI1-PK"}, {"KeyType": "RANGE", "AttributeName": "GSI1-SK"}]|{"ProjectionType": "ALL"}|6
LSI1|[{"KeyType": "HASH", "AttributeName": "PK"}, {"KeyType": "RANGE", "AttributeName": "Date"}]|{"ProjectionType": "KEYS_ONLY"}|
by-sk|[{"KeyType": "HASH", "AttributeName": "SK"}]|{"ProjectionType": "INCLUDE", "NonKeyAttributes": ["Detail", "Email"]}|6
END
is(value(q{SELECT dyn_describe_table('OnlineShop') -> 'ProvisionedThroughput' ->> 'ReadCapacityUnits',
	dyn_describe_table('Employee.x') -> 'BillingModeSummary' ->> 'BillingMode'}), '5|PAY_PER_REQUEST',
	'its capacity');
value(q{SELECT dyn_drop_table('OnlineShop')});
($status, $out, $err) = command('workbench', $shop);
is("$status$out", '1', 'one transaction makes all tables');
like($err, qr/Table "Employee\.x" already exists/, 'or says why it makes none');
is(value(q{SELECT to_regclass('"OnlineShop"') IS NULL}), 't', 'which it does not');

# facets that name their keys and show items are entities, whose items have attributes for what their keys say
($status, $out, $err) = command('workbench', write_file('facets.json', <<'END'));
{"DataModel": [{"TableName": "bank", "KeyAttributes": {"PartitionKey": {"AttributeName": "PK", "AttributeType": "S"},
	"SortKey": {"AttributeName": "SK", "AttributeType": "S"}},
	"TableFacets": [
		{"FacetName": "Account", "KeyAttributeAlias": {"PartitionKeyAlias": "AccountId", "SortKeyAlias": "Profile"}, "TableData": [
			{"PK": {"S": "ACCT#1"}, "SK": {"S": "#META"}, "Name": {"S": "Ann"}, "Age": {"N": "7"}}, {"PK": {"S": "ACCT#2"}, "SK": {"S": "#META"}}]},
		{"FacetName": "Card", "KeyAttributeAlias": {"PartitionKeyAlias": "Account.Id", "SortKeyAlias": "PK"}, "TableData": [
			{"PK": {"S": "ACCT#1"}, "SK": {"S": "CARD#x#2024-01-01"}, "Since": {"S": "2024-01-01"}},
			{"PK": {"S": "ACCT#2"}, "SK": {"S": "CARD#y#2024-02-01"}, "Since": {"S": "2024-02-01"}, "Limit": {"N": "5"}}]},
		{"FacetName": "Any", "KeyAttributeAlias": {"PartitionKeyAlias": "a", "SortKeyAlias": "b"}, "TableData": [{"PK": {"S": "1"}, "SK": {"S": "2"}}]},
		{"FacetName": "Nothing", "KeyAttributeAlias": {"PartitionKeyAlias": "a", "SortKeyAlias": "b"}, "TableData": []}],
	"TableData": [{"PK": {"S": "ACCT#3"}, "SK": {"S": "CARD#z#2024-03-01"}}]}]}
END
is("$status$out", "0bank: 0 indexes, 6 items\n", 'a model with facets') or diag($err);
is($err =~ s/^dynamo_table: //mgr, <<'END', 'which are named');
NOTICE:  facet "Account" of table "bank" is an entity
NOTICE:  facet "Card" of table "bank" is an entity
NOTICE:  facets of table "bank" are not kept: "Any", "Nothing"
HINT:  Declare them as entities with dyn_create_entity.
END
is(value(q{SELECT entity, keys, (SELECT string_agg(key || ' ' || (value ->> 'type'), ', ' ORDER BY key) FROM json_each(attributes)) FROM dyn_entities('bank')}),
	<<'END' =~ s/\n\z//r, 'and are entities');
Account|{"PK": "ACCT#<AccountId>", "SK": "#META"}|AccountId S, Age N, Name S
Card|{"PK": "ACCT#<Account_Id>", "SK": "CARD#<PK_2>#<Since>"}|Account_Id S, Limit N, PK_2 S, Since S
END
is(value(q{SELECT dyn_create_entity_view('bank', 'Card')}), '"Card"', 'of which there are views') or diag($err);
is(value(q{SELECT "Account_Id", "PK_2", "Since", "Limit" FROM "Card" ORDER BY 1}), "1|x|2024-01-01|\n2|y|2024-02-01|5\n3|z|2024-03-01|", 'that show items');

($status, $out, $err) = command('import', '--table', 'bank', '--from-keys', write_file('card.json', '{"PK":{"S":"ACCT#4"},"SK":{"S":"CARD#v#2024-04-01"}}'));
is(value(q{SELECT "PK_2" FROM "Card" WHERE "Account_Id" = '4'}), 'v', 'so do items that are imported later') or diag($err);

# what Workbench writes inside M: plain JSON, M twice, DynamoDB JSON, and all of these; what may be read as DynamoDB JSON is
($status, $out, $err) = command('workbench', write_file('inside.json', <<'END'));
{"DataModel": [{"TableName": "inside", "KeyAttributes": {"PartitionKey": {"AttributeName": "p", "AttributeType": "S"}}, "TableData": [
	{"p": {"S": "plain"}, "v": {"M": {"name": "Ann \u0041\"", "n": 1.50, "big": 12345678901234567890123456789012345678, "yes": true, "none": null,
		"list": [1, "a", {"b": []}], "map": {"x": {}}}}},
	{"p": {"S": "doubled"}, "v": {"M": {"M": {"a": {"S": "b"}, "n": {"N": "1"}}}}, "empty": {"M": {"M": {}}}, "both": {"M": {"M": {"a": "plain"}}},
		"thrice": {"M": {"M": {"M": {"a": {"S": "b"}}}}}},
	{"p": {"S": "typed"}, "v": {"M": {"M": {"S": "an attribute M"}}}, "w": {"M": {"M": {"M": {"M": {"S": "two of them"}}}}},
		"x": {"M": {"S": {"S": "S"}, "L": {"L": [{"M": {}}]}}}},
	{"p": {"S": "mixed"}, "v": {"M": {"a": {"S": "typed"}, "b": "plain", "c": {"M": {"d": 1, "e": {"NS": ["1", "2"]}}}, "S": "plain"}},
		"l": {"L": [{"M": {"a": 1}}, 2, {"M": {"M": {"a": {"L": [3]}}}}]}}]}]}
END
is("$out$err", "inside: 0 indexes, 4 items\n", 'what was typed in for maps');
is(value('SELECT item FROM inside ORDER BY p'), <<'END' =~ s/\n\z//r, 'is what was meant');
{"both":{"M":{"a":{"S":"plain"}}},"empty":{"M":{}},"p":{"S":"doubled"},"thrice":{"M":{"M":{"M":{"a":{"S":"b"}}}}},"v":{"M":{"a":{"S":"b"},"n":{"N":"1"}}}}
{"l":{"L":[{"M":{"a":{"N":"1"}}},{"N":"2"},{"M":{"a":{"L":[{"N":"3"}]}}}]},"p":{"S":"mixed"},"v":{"M":{"S":{"S":"plain"},"a":{"S":"typed"},"b":{"S":"plain"},"c":{"M":{"d":{"N":"1"},"e":{"NS":["1","2"]}}}}}}
{"p":{"S":"plain"},"v":{"M":{"big":{"N":"12345678901234567890123456789012345678"},"list":{"L":[{"N":"1"},{"S":"a"},{"M":{"b":{"L":[]}}}]},"map":{"M":{"x":{"M":{}}}},"n":{"N":"1.5"},"name":{"S":"Ann A\""},"none":{"NULL":true},"yes":{"BOOL":true}}}}
{"p":{"S":"typed"},"v":{"M":{"M":{"S":"an attribute M"}}},"w":{"M":{"M":{"M":{"M":{"S":"two of them"}}}}},"x":{"M":{"L":{"L":[{"M":{}}]},"S":{"S":"S"}}}}
END

# items that are wrong are skipped, and named by table, facet and key
my $skipped = write_file('skipped.json', <<'END');
{"DataModel": [{"TableName": "skipped", "KeyAttributes": {"PartitionKey": {"AttributeName": "p", "AttributeType": "S"},
	"SortKey": {"AttributeName": "s", "AttributeType": "N"}},
	"GlobalSecondaryIndexes": [{"IndexName": "GSI", "KeyAttributes": {"PartitionKey": {"AttributeName": "g", "AttributeType": "S"}}}],
	"TableFacets": [{"TableData": [{"p": {"S": "f"}, "s": {"N": "1"}}, {"p": {"S": "f"}, "s": {"N": "one"}}], "FacetName": "fa\u0000'cet"},
		{"FacetName": "other", "TableData": [{"p": {"S": "o"}, "g": {"S": "x"}}]}],
	"TableData": [{"p": {"S": "1"}, "s": {"N": "1"}}, {"p": {"N": "2"}, "s" : {"N": "1"}}, {"p": "plain", "s": 1}, 5, [], {},
		{"p": {"S": "e\u001b[31m\n"}, "s": [ 1,
		{"a" : 2} ]}, {"p": {"S": "3"}, "s": {"N": "1"}, "g": {"S": ""}}, {"p": {"S": "4"}, "p": {"S": "5"}, "s": {"N": "1"}},
		{"p": {"S": "4"}, "s": {"N": "1"}, "m": {"M": {"a": 1, "a": 2}}},
		{"p": {"S": "6"}, "s": {"N": "1"}, "m": {"M": {"": 1}}}, {"p": {"S": "7"}, "s": {"N": "1"}, "m": {"M": {"n": 1e200}}},
		{"p": {"S": "\ud800"}, "s": {"N": "2"}}, {"p": {"S": "8"}, "s": {"N": "1"}, "m": {"M": {"a": 1, "n": {"N": 5}}}}, {"p": {"S": "2"}, "s": {"N": "1"}}]}]}
END
($status, $out, $err) = command('workbench', $skipped);
is($out, "skipped: 1 indexes, 3 items\n", 'items that are wrong');
is($err =~ s/^dynamo_table: //mgr, <<'END' =~ s/\n\t/ /gr, 'are skipped');
WARNING:  item 2 of table "skipped", facet "fa?'cet", with key {"p": {"S":"f"}, "s": {"N":"one"}}, is skipped:
	invalid item: "one" is not a number (in attribute "s")
WARNING:  item 1 of table "skipped", facet "other", with key {"p": {"S":"o"}}, is skipped: key attribute "s" is missing
WARNING:  item 2 of table "skipped", with key {"p": {"N":"2"}, "s": {"N":"1"}}, is skipped: key attribute "p" must be of type S, not N
WARNING:  item 3 of table "skipped", with key {"p": "plain", "s": 1}, is skipped: invalid item: a value must be an object with a type code (in attribute "p")
WARNING:  item 4 of table "skipped", with key {}, is skipped: invalid line: an item must be a JSON object
WARNING:  item 5 of table "skipped", with key {}, is skipped: invalid line: an item must be a JSON object
WARNING:  item 6 of table "skipped", with key {}, is skipped: key attribute "p" is missing
WARNING:  item 7 of table "skipped", with key {"p": {"S":"e\u001b[31m\n"}, "s": [1,{"a":2}]}, is skipped:
	invalid item: a value must be an object with a type code (in attribute "s")
WARNING:  item 8 of table "skipped", with key {"p": {"S":"3"}, "s": {"N":"1"}}, is skipped: key attribute "g" of index "GSI" must not be empty
WARNING:  item 9 of table "skipped", with key {"p": {"S":"4"}, "p": {"S":"5"}, "s": {"N":"1"}}, is skipped: invalid item: attribute name "p" occurs twice
WARNING:  item 10 of table "skipped", with key {"p": {"S":"4"}, "s": {"N":"1"}}, is skipped: invalid item: attribute name "a" occurs twice (in attribute "m")
WARNING:  item 11 of table "skipped", with key {"p": {"S":"6"}, "s": {"N":"1"}}, is skipped: invalid item: empty attribute name (in attribute "m")
WARNING:  item 12 of table "skipped", with key {"p": {"S":"7"}, "s": {"N":"1"}}, is skipped:
	invalid item: "1e200" is larger than 9.99...E+125 in magnitude (in attribute "m.n")
WARNING:  item 13 of table "skipped", with key {"p": {"S":"\ud800"}, "s": {"N":"2"}}, is skipped:
	invalid item: string contains a lone surrogate (in attribute "p")
WARNING:  item 14 of table "skipped", with key {"p": {"S":"8"}, "s": {"N":"1"}}, is skipped:
	invalid item: the value of N must be a JSON string (in attribute "m.n")
NOTICE:  facets of table "skipped" are not kept: "fa?'cet", "other"
HINT:  Declare them as entities with dyn_create_entity.
END

# what is not there is not looked at; many items that are wrong are counted
($status, $out, $err) = command('workbench', '--no-data', '--prefix', 'no-', $skipped);
is($out, "no-skipped: 1 indexes, 0 items\n", 'no data');
unlike($err, qr/WARNING/, 'is skipped without a warning');
($status, $out, $err) = command('workbench', write_file('many.json',
	'{"DataModel": [{"TableName": "many", "KeyAttributes": {"PartitionKey": {"AttributeName": "p", "AttributeType": "S"}}, "TableData": ['
	. join(', ', map { qq({"p": {"N": "$_"}}) } 1 .. 101) . ', {"p": {"S": "' . 'é' x 2000 . '"}, "n": 1}]}]}'));
like($err, qr/^dynamo_table: WARNING:  item 100 .*\n.*WARNING:  2 more items are skipped\n\z/m, 'many items that are wrong');

# models that are none, and tables that cannot be
for my $case (['[]', 'the model has no member "DataModel"'],
	['{', 'invalid model: Expecting property name enclosed in double quotes: line 1 column 2 (char 1)'],
	['{"DataModel": {}}', 'invalid model: "DataModel" must be an array'], ['{"DataModel": [5]}', 'invalid model: what has the members of a table is no object'],
	['{"DataModel": [{}]}', 'a table of the model has no "TableName"'], ['{"DataModel": [{"TableName": 5}]}', 'invalid model: "TableName" must be a string'],
	['{"DataModel": [{"TableName": "abc", "TableData": {}}]}', 'invalid model: "TableData" must be an array'],
	['{"DataModel": [{"TableName": "abc"}]}',
		q(ERROR:  1 validation error detected: Value '[]' at 'keySchema' failed to satisfy constraint: Member must have length greater than or equal to 1)],
	['{"DataModel": [{"TableName": "abc", "KeyAttributes": {"PartitionKey": {"AttributeName": "p"}}}]}',
		q(ERROR:  1 validation error detected: Value '' at 'attributeDefinitions.1.member.attributeType')],
	['{"DataModel": [{"TableName": "a\'b\u0000", "KeyAttributes": {"PartitionKey": {"AttributeName": "p", "AttributeType": "S"}}}]}',
		q(ERROR:  1 validation error detected: Value 'a'b)],
	['{"DataModel": [{"TableName": "abc", "KeyAttributes": {"SortKey": {"AttributeName": "s", "AttributeType": "S"}}}]}',
		'ERROR:  Invalid KeySchema: The first KeySchemaElement is not a HASH key type'],
	['{"DataModel": ' . '[' x 100000 . ']' x 100000 . '}', 'the model is nested too deeply'])
{
	($status, $out, $err) = command('workbench', write_file('wrong model.json', $case->[0]));
	is("$status$out", '1', substr($case->[0], 0, 100) . ' is not imported');
	like($err, qr/^dynamo_table: \Q$case->[1]\E/, 'which has a reason');
}
is(value(q{SELECT count(*) FROM pg_class WHERE relname = 'abc'}), '0', 'and nothing is made');

# charts, as wide as they are asked for
$node->safe_psql('postgres', q{SELECT dyn_create_table('drawn', 'pk S', 'sk S')});
$node->safe_psql('postgres', q{SELECT dyn_put('drawn',
	'{"pk":{"S":"ORG#1"},"sk":{"S":"USER#ada"},"Name":{"S":"Ada Lovelace"},"Note":{"S":"a\u001b[2J\u009b\nb"},"Word":{"S":"abcdefghijklmnopqrstuvwxyz"}}')});
($status, $out, $err) = command('chart', '--table', 'drawn', '--width', '40');
is($status, 0, 'a chart') or diag($err);
like($out, qr/^ORG#1 +\| USER#ada +\| /m, 'has the item');
like($out, qr/a\\u001b\[2J/, 'without escape sequences');
utf8::decode($out);
unlike($out, qr/[^\n]{41}/, 'no line is wider');
{
	local $ENV{COLUMNS} = 120;
	($status, $out, $err) = command('chart', '--table', 'drawn');
	like($out, qr/Name: Ada Lovelace, Note: \S+, Word: [a-z]{26}$/m, 'nor narrower than the terminal needs');
}
($status, $out, $err) = command('chart', '--table', 'drawn', '--of', 'entities', '--format', 'markdown');
like($out, qr/^### Main table\n\n\| Entity \| pk \| sk \|\n/, 'entities, in Markdown');
($status, $out, $err) = command('chart', '--table', 'drawn', '--of', 'patterns');
like($out, qr/^Entity \| Access pattern \|/, 'access patterns');
($status, $out, $err) = command('chart', '--table', 'none');
is($status, 1, 'of no table');

# wrong calls, and files that are not there
for (['import'], ['import', '--table', 'app'], ['import', '--table', 'app', '--jobs', '0', 'x'], ['import', '--table', 'app', '--on-error', 'x', 'y'],
	['export'], ['export', '--table', 'app', 'a', 'b'], ['export', '--tabel', 'x'],
	['export', '--table'], ['workbench'], ['chart'], ['chart', '--table', 'app', '--of', 'x'], ['chart', '--table', 'app', '--width', 'x'],
	['chart', '--table', 'app', '--max-items', '0'])
{
	($status, $out, $err) = command(@$_);
	is($status, 2, join(' ', @$_));
}
($status, $out, $err) = command('import', '--table', 'app', "$dir/none");
is($status, 1, 'a file that is not there');
($status, $out, $err) = command('export', '--table', 'none', "$dir/none.json");
is($status, 1, 'a table that is not there');
ok(!-e "$dir/none.json" && !-e "$dir/none.json.part", 'leaves no file');
symlink("$dir/victim", "$dir/linked.json.part");
($status) = command('export', '--table', 'app', "$dir/linked.json");
ok($status == 0 && !-e "$dir/victim" && -s "$dir/linked.json", 'a link in the place of the unfinished file is not followed');
($status, $out, $err) = command('import', '--table', q(x'; DROP TABLE app; --), $plain);
is($status, 1, 'a name is a name');
ok(count('app') > 0, 'and no SQL');
like(`dynamo_table --help`, qr/^Usage:/, 'help');

# other formats, found out; with --types; what is wrong is named by its line or item
create_table('formats');
for (
	[plain => qq({"pk":"plain","sk":12345678901234567890123456789012345678,"v":[1,null]}\n)],
	[csv => qq(\xef\xbb\xbfpk,sk,g,n,"odd\nname"\r\n"csv ""q""",1,g,1.50,"two\r\nlines"\r\n=1+1,2,,,\r\n), '--types', '{"n": "N"}'],
	[document => qq({\n    "Items": [\n        {\n            "pk": {"S": "document"}, "sk": {"N": "1"}\n        }\n    ],\n    "Count": 1\n}\n)],
	[json => lines('json', 1, 1)])
{
	my ($format, $text, @types) = @$_;
	($status, $out, $err) = command('import', '--table', 'formats', @types, write_file("auto.$format", $text));
	is($status, 0, "$format is found out") or diag($err);
	($status, $out, $err) = command('import', '--table', 'formats', '--format', $format, '--on-conflict', 'keep', @types, gzip_file("$format.gz", $text));
	like($err, qr/1 files, ([12]) items, 0 skipped, \1 kept/, 'and the same if it is named');
}
is(value(q{SELECT string_agg(item::text, ' ' ORDER BY pk) FROM formats WHERE pk <> 'json'}),
	'{"pk":{"S":"=1+1"},"sk":{"N":"2"}} {"g":{"S":"g"},"n":{"N":"1.5"},"odd\nname":{"S":"two\r\nlines"},"pk":{"S":"csv \"q\""},"sk":{"N":"1"}} '
	  . '{"pk":{"S":"document"},"sk":{"N":"1"}} '
	. '{"pk":{"S":"plain"},"sk":{"N":"12345678901234567890123456789012345678"},"v":{"L":[{"N":"1"},{"NULL":true}]}}', 'all is there');
($status, $out, $err) = command('export', '--table', 'formats', '--format', 'csv', '--filter', 'begins_with(pk, :p)', '--values', '{":p": {"S": "csv"}}',
	"$dir/some.csv");
($status, $out, $err) = command('import', '--table', 'formats', '--types', '{"n": "N"}', '--on-conflict', 'keep', "$dir/some.csv");
like($err, qr/ 1 items, 0 skipped, 1 kept/, 'CSV that was exported comes in again');
($status, $out, $err) = command('import', '--table', 'formats', '--on-error', 'skip', write_file('bad.csv', qq(pk,sk\na,1\n"b\nc",x\n\xff,1\nd\n)));
is($status, 3, 'wrong records are skipped');
like($err,
	qr/bad\.csv: line 3: column "sk": "x" is not a number\n.*bad\.csv: line 5: invalid byte sequence for encoding "UTF8": 0xff\n.*bad\.csv: line 6: invalid CSV: the number of fields is 1, not 2/s,
	'and named by line');
($status, $out, $err) = command('import', '--table', 'formats', '--on-error', 'skip',
	write_file('bad.scan', q({"Items":[{"pk":{"S":"a"},"sk":{"N":"1"}},{"pk":{"S":"a"}},5]})));
like($err, qr/bad\.scan: item 2 \(line 1\): key attribute "sk" is missing\n.*bad\.scan: item 3 \(line 1\): invalid item/, 'items by number');
($status, $out, $err) = command('import', '--table', 'formats', write_file('cut.scan', q({"Items":[{"pk":{"S":"a"},"sk":{"N":"1"}},{"pk":{"S")));
is($status, 1, 'a document that is cut');
like($err, qr/^dynamo_table: \S*cut\.scan: ERROR:  line 1: invalid document: it ends in the middle\ndynamo_table: \S*cut\.scan: DETAIL:  /, 'is an error');
($status, $out, $err) = command('import', '--table', 'formats', write_file("odd\e[31m\n.csv", qq(pk,sk,"a\nb","a\nb"\n)));
like($err, qr/odd\?\[31m\?\.csv: ERROR:  line 1: invalid CSV header: column "a\\u000ab" is there twice\n/,
	'control characters of names are not sent to terminals');
unlike($err, qr/[^\n[:print:]]/, 'at all');

# what people have: a body of BatchWriteItem, items over several lines, CSV of other forms, what zstd has compressed
create_table('forms');
sub imported
{
	my ($says, @arguments) = @_;
	($status, $out, $err) = command('import', '-q', '--table', 'forms', @arguments);
	is("$status$err", 0, $says);
	my $items = value('SELECT string_agg(item::text, e\'\\n\' ORDER BY pk, sk) FROM forms');
	value('TRUNCATE forms');
	return $items;
}
sub put { return qq({"PutRequest": {"Item": {"pk": {"S": "$_[0]"}, "sk": {"N": "1"}}}}) }
sub stored { return join "\n", map { qq({"pk":{"S":"$_"},"sk":{"N":"1"}}) } @_ }
my $one = write_file('one.json', "{\n  \"Catalog\": [\n    " . put('a') . ",\n    " . put('b') . "\n  ]\n}\n");
my $two = write_file('two.json', '{"RequestItems": {"Catalog": [' . put('a') . '], "Forum": [' . put('b') . ']}, "ReturnConsumedCapacity": "TOTAL"}');
is(imported('a body of BatchWriteItem', $one), stored('a', 'b'), 'is of its items');
is(imported('the table of one that has more', '--from-table', 'Forum', $two), stored('b'), 'is the one that is named');
($status, $out, $err) = command('import', '--table', 'forms', $two);
is($status, 1, 'of two tables one must be named');
like($err, qr/two\.json: ERROR:  the batch has several tables\n.*DETAIL:  They are "Catalog", "Forum"\.\n.*HINT:  .*--from-table/, 'which are listed');
($status, $out, $err) = command('import', '--table', 'forms', '--from-table', 'Thread', $two);
like($err, qr/the batch has no table "Thread"\n.*DETAIL:  It has "Catalog", "Forum"\./, 'as they are where another one is named');
($status, $out, $err) = command('import', '--table', 'forms',
	write_file('deletes.json', "{\"T\": [\n" . put('a') . ",\n{\"DeleteRequest\": {\"Key\": {\"pk\": {\"S\": \"b\"}, \"sk\": {\"N\": \"1\"}}}}]}"));
like($err, qr/deletes\.json: ERROR:  item 2 \(line 3\): invalid line: a "DeleteRequest" cannot be imported\n/, 'deletes are not imported');
is(imported('items over several lines', write_file('pretty.json',
	qq({\n  "pk": {"S": "a"},\n  "sk": {\n    "N": "1"\n  }\n}\n{ "pk": {"S": "b"},\n  "sk": {"N": "1"} }\n))), stored('a', 'b'), 'are items');
is(imported('an array of plain items', write_file('array.json', qq([\n  {"pk": "a", "sk": 1},\n  {"pk": "b", "sk": 1}\n]\n))), stored('a', 'b'), 'too');
is(imported('CSV with another delimiter', '--delimiter', ';', write_file('semicolon.csv', qq(pk;sk\n"a;b";1\n))), stored('a;b'), 'between its fields');
is(imported('CSV without a header', '--delimiter', '\t', '--header', qq(sk\tpk), gzip_file('tab.csv.gz', qq(1\ta,b\r\n))), stored('a,b'),
	'has the one that is given');
($status, $out, $err) = command('import', '--table', 'forms', '--delimiter', ';', $one);
like($err, qr/one\.json: ERROR:  line 1: invalid CSV header: there is no column "pk"/, 'a delimiter says that it is CSV');
SKIP:
{
	skip 'zstd is not installed', 4 unless system('command -v zstd >/dev/null') == 0;
	system("zstd -qf '$one'") == 0 or die;
	is(imported('what zstd has compressed', "$one.zst"), stored('a', 'b'), 'is read');
	truncate("$one.zst", (-s "$one.zst") - 5) or die $!;
	($status, $out, $err) = command('import', '--table', 'forms', "$one.zst");
	like($err, qr/one\.json\.zst: ERROR:  it cannot be read to its end\n/, 'to its end');
	# a search path with all programs but zstd
	mkdir "$dir/programs" or die $!;
	for my $program (glob('/usr/bin/* /bin/*'), glob(dirname(`sh -c 'command -v psql'`) . '/*'))
	{
		symlink($program, "$dir/programs/" . basename($program)) if basename($program) ne 'zstd';
	}
	local $ENV{PATH} = "$dir/programs";
	($status, $out, $err) = command('import', '--table', 'forms', "$one.zst");
	is("$status $err", "1 dynamo_table: $one.zst needs the program zstd\n", 'by a program that may be missing');
}
is(count('forms'), 0, 'and nothing of what is wrong is there');
for my $ion (["\$ion_1_0 {Item:{pk:\"a\",sk:1.}}\n", 'text'], ["\xe0\x01\x00\xea\xd0", 'binary'])
{
	($status, $out, $err) = command('import', '--table', 'forms', gzip_file("$ion->[1].ion.gz", $ion->[0]));
	like($err, qr/\.ion\.gz: ERROR:  files of Amazon Ion cannot be imported\n.*HINT:  Export the table with the format DYNAMODB_JSON\.\n/,
		"Ion as $ion->[1] is known, and not read");
}

# under a condition; what is skipped goes to a file, which can be imported
my $versions = write_file('versions.json', join '', map { qq({"pk":{"S":"$_->[0]"},"sk":{"N":"1"},"v":{"N":"$_->[1]"}}\n) } ['a', 1], ['b', 5], ['c', 2],
	['a', 2], ['a', 3]);
command('import', '--table', 'forms', write_file('there.json', join '', map { qq({"pk":{"S":"$_"},"sk":{"N":"1"},"v":{"N":"3"}}\n) } 'b', 'c'));
($status, $out, $err) = command('import', '--table', 'forms', '--condition', 'attribute_not_exists(pk) OR #v < :v', '--names', '{"#v": "v"}', '--values',
	'{":v": {"N": "2"}}', '--refused', "$dir/refused.json", $versions);
is($status, 3, 'what does not meet a condition is skipped');
like($err,
	qr/versions\.json: line 5: the condition is not met\n.*versions\.json: line 2: the condition is not met\n.*versions\.json: line 3: the condition is not met\n.* 5 items, 3 skipped, 0 kept/s, 'which is said');
is(value(q{SELECT string_agg(format('%s%s', pk, item ->> 'v'), ' ' ORDER BY pk) FROM forms}), 'a2 b3 c3', 'and the import goes on, line by line');
is(slurp_file("$dir/refused.json"), join('', map {
	qq({"Metadata":{"line":$_->[0],"code":"YD002","message":"the condition is not met"},"Item":{"pk":{"S":"$_->[1]"},"sk":{"N":"1"},"v":{"N":"$_->[2]"}}}\n) }
	[5, 'a', 3], [2, 'b', 5], [3, 'c', 2]), 'with the reason in the file');
($status, $out, $err) = command('import', '--table', 'forms', "$dir/refused.json");
is(value(q{SELECT string_agg(format('%s%s', pk, item ->> 'v'), ' ' ORDER BY pk) FROM forms}), 'a3 b5 c2', 'which can be imported');
write_file('refused.json', 'of another import');
($status, $out, $err) = command('import', '--table', 'forms', '--on-error', 'skip', '--refused', "$dir/refused.json",
	write_file('partly.json', qq({"pk":{"S":"d"}}\n{"pk":{"S":"d"},"sk":{"N":"1"},"g":{"S":"g"}}\n)));
is(slurp_file("$dir/refused.json"), qq({"Metadata":{"line":1,"code":"YD001","message":"key attribute \\"sk\\" is missing"}}\n),
	'as is what is wrong, as far as it is an item');
($status, $out, $err) = command('import', '--table', 'forms', '--condition', 'attribute_not_exists(pk)', '--refused', "$dir/refused.json",
	write_file('fails.json', qq({"pk":{"S":"d"},"sk":{"N":"1"}}\n) . ' ' x 16777216 . qq(\nnonsense\n)));
is($status, 1, 'an import that fails');
like(slurp_file("$dir/refused.json"), qr/^\{"Metadata":\{"line":1,[^\n]*\n\z/, 'leaves what it had refused before');
($status, $out, $err) = command('import', '--table', 'forms', '--refused', "$dir/none/refused.json", $versions);
is("$status $err", "1 dynamo_table: $dir/none/refused.json cannot be written\n", 'a file that cannot be written is told first');
for my $source ("$dir/refused.json", "$dir/../files/refused.json")
{
	write_file('refused.json', 'of another import');
	($status, $out, $err) = command('import', '--table', 'forms', '--refused', "$dir/refused.json", $versions, $source);
	is("$status $err " . slurp_file("$dir/refused.json"),
		"1 dynamo_table: $dir/refused.json is imported: what is refused needs another file\n of another import", 'nor is a file that is imported overwritten');
}
for (['--values', '{}'], ['--condition', 'x =', '--refused'], ['--format', 'scan'])
{
	($status, $out, $err) = command('import', '--table', 'forms', @$_, $versions);
	is($status, 2, "import @$_");
}
for (['--condition', 'pk = :x', qr/:x/], ['--condition', 'attribute_exists(pk)', '--on-conflict', 'keep', qr/a condition needs on_conflict "replace"/],
	['--header', 'pk', '--format', 'json', qr/header can be given for CSV only/],
	['--delimiter', 'ab', qr/delimiter must be one character/], ['--from-table', 'T', qr/from_table can be given for bodies of BatchWriteItem only/])
{
	my $what = pop @$_;
	($status, $out, $err) = command('import', '--table', 'forms', @$_, $versions);
	like($err, qr/^dynamo_table: \S*versions\.json: ERROR:  [^\n]*$what/, "import @$_");
}

# a compressed file that is cut: nothing of it, since the last record might look whole
my $whole = gzip_file('cut.csv.gz', join('', "pk,sk\n", map { "cut,$_\n" } 1 .. 20000));
truncate($whole, (-s $whole) / 2) or die $!;
($status, $out, $err) = command('import', '--table', 'formats', $whole);
is($status, 1, 'a compressed file that is cut');
like($err, qr/cut\.csv\.gz: ERROR:  it cannot be read to its end\n/, 'is an error');
is(value(q{SELECT count(*) FROM formats WHERE pk = 'cut'}), 0, 'and nothing of it is imported');

# an answer of Scan that is larger than what is kept of it, in one line; the memory of the server is that of a batch
my $large = "$dir/large.json";
open my $file, '>', $large or die $!;
print $file '{"Items":[', join(',', map { sprintf '{"pk":{"S":"large"},"sk":{"N":"%d"},"v":{"S":"%s"}}', $_, 'x' x 9000 } 1 .. 2500), '],"Count":2500}';
close $file;
($status, $out, $err) = command('import', '--table', 'formats', $large);
is($status, 0, 'a document of 22 MB') or diag($err);
is(value(q{SELECT count(*) FROM formats WHERE pk = 'large'}), 2500, 'is imported');

# part of a table
($status, $out, $err) = command('export', '--table', 'csv', '--filter', '#n = :n', '--names', '{"#n": "pk"}', '--values', '{":n": {"S": "y"}}');
is($out, qq({"Item":{"flag":{"BOOL":true},"pk":{"S":"y"},"sk":{"N":"2"}}}\n), 'items that meet a condition') or diag($err);
($status, $out, $err) = command('export', '--table', 'csv', '--entity', 'User', '--format', 'csv', '--filter=#n = :n', '--names', '{"#n": "Name"}',
	'--values', q({":n": {"S": "Bob"}}));
is($out, "Born,Name,Number\n,Bob,2\n", 'of an entity, as CSV') or diag($err);
for (['#n = :n'], ['#n =', '--names', '{"#n": "pk"}'], ["pk = ''", '--names', q[{'); DROP TABLE csv; --]], ['pk = :n', '--values', 'x'])
{
	($status, $out, $err) = command('export', '--table', 'csv', '--filter', @$_);
	is($status, 1, "@$_");
	like($err, qr/^dynamo_table: ERROR:  /, 'is an error, without the name of a script');
}
is(count('csv'), 4, 'and nothing else');

# help of its own
for my $command ('import', 'export', 'workbench', 'chart')
{
	($status, $out, $err) = command($command, '--help');
	is($status, 0, "$command --help");
	like($out, qr/^Usage: dynamo_table $command .*^Example: .*dynamo_table $command/ms, 'has an example');
	is(`dynamo_table help $command`, $out, 'and another way to it');
	($status, $out, $err) = command($command, '--nonsense');
	is($err, "dynamo_table: unknown option --nonsense\nTry: dynamo_table $command --help\n", 'wrong options lead to it');
}
($status, $out, $err) = command('export', '--on-error', 'skip', '--table', 'csv');
is($status, 2, 'an option of another command is wrong');
($status, $out, $err) = command('workbench', write_file('bad model.json', '{}'));
like($err, qr/^dynamo_table: the model has no member "DataModel"\n/, 'a model that is none');
($status, $out, $err) = command('workbench', '--prefix', 'w-', write_file('warn.json', '{"DataModel":[
	{"TableName":"Warn","KeyAttributes":{"PartitionKey":{"AttributeName":"p","AttributeType":"S"}},
	"TableData":[{"p":{"N":"1"}},{"p":{"S":"1"},"m":{"M":{"M":{"a":{"S":"b"}}}}}]}]}'));
is($out, "w-Warn: 0 indexes, 1 items\n", 'an item that is wrong is skipped');
like($err, qr/^dynamo_table: WARNING:  item 1 of table "Warn", with key \{"p": \{"N":"1"\}\}, is skipped: /, 'with a warning');
($status, $out, $err) = command('workbench', '--prefix', 'x-', '--no-data', "$dir/warn.json");
is("$out$err", "x-Warn: 0 indexes, 0 items\n", 'and without data not looked at');

# on a terminal a bar: while the import waits for a lock, it shows what was read
create_table('watched');
my $watched = write_file('watched.json', lines('w', 1, 20000));
my $lock = $node->background_psql('postgres');
$lock->query_safe('BEGIN; LOCK TABLE watched IN EXCLUSIVE MODE');
my $terminal = '';
my $timeout = IPC::Run::timeout($PostgreSQL::Test::Utils::timeout_default);
my $bar = IPC::Run::start(['dynamo_table', 'import', '-h', $node->host, '-p', $node->port, '-d', 'postgres', '--table', 'watched', $watched], '<pty<', \undef,
	'>pty>', \$terminal, '2>&1', $timeout);
$bar->pump until $terminal =~ /\[#{5,7}\.+\]  2[0-5] %  [1-9][0-9]* MB read  [0-9]+:[0-9][0-9] left/;
pass('a bar shows how far the import is, and the time left');
$lock->query_safe('COMMIT');
$lock->quit;
IPC::Run::finish($bar);
is($bar->result(0), 0, 'the import goes on when it may');
like($terminal, qr/\r\e\[Kdynamo_table: 1 files, 20000 items[^\n]*\r?\n$/, 'and the bar is gone');
unlike($terminal, qr/NOTICE/, 'with the notices');
$terminal = '';
IPC::Run::run(['dynamo_table', 'export', '-h', $node->host, '-p', $node->port, '-d', 'postgres', '--table', 'watched', "$dir/watched.out"], '<pty<', \undef,
	'>pty>', \$terminal, '2>&1', $timeout);
like($terminal, qr/\[\.{30}\]   0 %.*\r\e\[Kdynamo_table: 20000 items/s, 'of an export, too');
$terminal = '';
my $few = write_file('few.json', lines('w', 1, 100));
IPC::Run::run(['dynamo_table', 'import', '-q', '-h', $node->host, '-p', $node->port, '-d', 'postgres', '--table', 'watched', $few], '<pty<', \undef, '>pty>',
	\$terminal, '2>&1', $timeout);
is($terminal, '', 'but not where none is wanted');
# elsewhere lines, as often as the setting says
{
	local $ENV{PGOPTIONS} = '-c dynamo_table.progress_interval=0';
	($status, $out, $err) = command('import', '--table', 'watched', $few);
	like($err, qr/^dynamo_table: \S*few\.json: [0-9]+ items, [0-9]+ %\n/, 'elsewhere lines');
	unlike($err, qr/\r|\e|NOTICE/, 'and nothing to draw with');
	($status, $out, $err) = command('export', '--table', 'watched', "$dir/watched.out");
	like($err, qr/^dynamo_table: [0-9]+( of about [0-9]+)? items read\n/, 'of an export likewise');
}

# kill -9 of the server in the middle, and the same again
create_table('killed');
my $many = write_file('many.json', lines('k', 1, 20000));
my $holder = $node->background_psql('postgres');
$holder->query_safe(q{BEGIN; SELECT dyn_put('killed', '{"pk":{"S":"k"},"sk":{"N":"20000"}}')});
my $import = IPC::Run::start(['dynamo_table', 'import', '-h', $node->host, '-p', $node->port, '-d', 'postgres', '--table', 'killed', $many], '<', \'', '>',
	\$out, '2>', \$err);
wait_for($node, q{SELECT EXISTS (SELECT FROM killed) AND EXISTS (SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock')});
$node->stop('immediate');
eval { $holder->quit };
$import->finish;
ok($import->result(0) != 0, 'an import that was interrupted fails');
$node->start;
my $there = count('killed');
cmp_ok($there, '<', 20000, "when $there items are there");
($status, $out, $err) = command('import', '--table', 'killed', $many);
is($status, 0, 'the same again') or diag($err);
is(count('killed'), 20000, 'does the rest');

# imports are changes of a stream
create_table('streamed');
value(q{CALL dyn_setup_streams()});
value(q{SELECT dyn_enable_stream('streamed', 'NEW_IMAGE')});
command('import', '--table', 'streamed', write_file('stream.json', lines('s', 1, 10)
  . qq({"Keys":{"pk":{"S":"s"},"sk":{"N":"10"}}}\n{"NewImage":{"pk":{"S":"s"},"sk":{"N":"11"}}}\n)));
value('CALL dyn_collect_streams()');
is(value(q{SELECT string_agg(DISTINCT event_name, ' ') || ' ' || count(*) FROM dyn_read_stream('streamed')}), 'INSERT 10', 'imports are changes of a stream');
command('import', '--table', 'streamed', write_file('stream.json',
	qq({"Keys":{"pk":{"S":"s"},"sk":{"N":"11"}}}\n{"NewImage":{"pk":{"S":"s"},"sk":{"N":"1"}}}\n)));
value('CALL dyn_collect_streams()');
is(value(q{SELECT string_agg(event_name, ' ') FROM (SELECT event_name FROM dyn_read_stream('streamed') OFFSET 10) r}), 'MODIFY REMOVE',
	'and so are those of incremental exports');
value(q{SELECT dyn_disable_stream('streamed')});
value('CALL dyn_teardown_streams()');

# an extension outside of the search_path
value('CREATE DATABASE other');
$node->safe_psql('other', q{CREATE SCHEMA elsewhere; CREATE EXTENSION dynamo_table SCHEMA elsewhere; SELECT elsewhere.dyn_create_table('app', 'pk S', 'sk N')});
($status, $out, $err) = command('import', '-q', '--table', 'app', '-d', 'other', $plain);
is($status, 0, 'functions in another schema') or diag($err);
($status, $out, $err) = command('export', '-q', '--table', 'app', '-d', 'other');
is(scalar(() = $out =~ /\n/g), 500, 'both ways') or diag($err);


# The search_path has functions and operators of another role, which fit calls better than those that are meant.
$node->safe_psql('other', q{
	CREATE ROLE stranger; CREATE SCHEMA strange AUTHORIZATION stranger;
	GRANT USAGE ON SCHEMA elsewhere TO stranger; GRANT USAGE ON SCHEMA strange TO PUBLIC;
	SET SESSION AUTHORIZATION stranger; SET search_path = strange;
	CREATE FUNCTION caught() RETURNS text LANGUAGE plpgsql AS $$BEGIN RAISE 'caught as %', current_user; END$$;
	CREATE FUNCTION concat_ws(text, text, text) RETURNS text LANGUAGE sql AS 'SELECT strange.caught()';
	CREATE FUNCTION format(text, text, text) RETURNS text LANGUAGE sql AS 'SELECT strange.caught()';
	CREATE FUNCTION format(text, text, text, text, text, text, text) RETURNS text LANGUAGE sql AS 'SELECT strange.caught()';
	CREATE FUNCTION dyn_table_chart(text, text, integer, format text, width integer) RETURNS text LANGUAGE sql AS 'SELECT strange.caught()';
	CREATE FUNCTION dyn_entity_chart(text, text, integer) RETURNS text LANGUAGE sql AS 'SELECT strange.caught()';
	CREATE FUNCTION dyn_export(text, text, text, jsonb, elsewhere.dyn_item, wrapped boolean) RETURNS text LANGUAGE sql AS 'SELECT strange.caught()';
	CREATE FUNCTION dyn_import_lines(text, text, on_error text, format text, from_keys boolean, OUT written bigint, OUT skipped bigint,
		OUT errors text) LANGUAGE sql AS 'SELECT 1::bigint, 1::bigint, strange.caught()';
	CREATE FUNCTION dyn_request(text, json) RETURNS text LANGUAGE sql AS 'SELECT strange.caught()';
	CREATE FUNCTION translate(text, text, text) RETURNS text LANGUAGE sql AS 'SELECT strange.caught()';
	CREATE PROCEDURE dyn_import(text, text, text, on_conflict text, on_error text, format text, types jsonb, delimiter text, header text, from_table text,
		condition text, names jsonb, vals text, refused text, from_keys boolean) LANGUAGE plpgsql AS 'BEGIN PERFORM strange.caught(); END';
	CREATE FUNCTION attribute(elsewhere.dyn_item, elsewhere.dyn_item) RETURNS text LANGUAGE sql AS 'SELECT strange.caught()';
	CREATE OPERATOR ->> (LEFTARG = elsewhere.dyn_item, RIGHTARG = elsewhere.dyn_item, FUNCTION = attribute);
	CREATE FUNCTION attribute(jsonb, jsonb) RETURNS text LANGUAGE sql AS 'SELECT strange.caught()';
	CREATE OPERATOR ->> (LEFTARG = jsonb, RIGHTARG = jsonb, FUNCTION = attribute)});
$node->safe_psql('other', q{SELECT elsewhere.dyn_create_table('few', 'pk S', 'sk N');
	SELECT elsewhere.dyn_create_entity('few', 'Line', '{"pk": "<a>", "sk": "<b>"}', '{"a": "S", "b": "N"}')});
{
	local $ENV{PGOPTIONS} = '-c search_path=strange,public';
	my $right = write_file('right.json', qq({"pk":{"S":"r"},"sk":{"N":"1"}}\n));
	my $wrong = write_file('wrong.json', qq({"pk":{"S":"w"},"sk":{"S":"1"}}\n));
	my @commands = (['import', '--table', 'few', $right], ['import', '--table', 'few', '--on-error', 'skip', $wrong], ['export', '--table', 'few'],
		['export', '--table', 'few', '--format', 'csv'],
		['export', '--table', 'few', '--format', 'csv', '--entity', 'Line'], ['workbench', $model], ['chart', '--table', 'few'],
		['chart', '--table', 'few', '--of', 'entities']);
	my %skips = ("import --table few --on-error skip $wrong" => qq(3 dynamo_table: $wrong: line 1: key attribute "sk" must be of type N, not S\n));
	for (@commands)
	{
		($status, $out, $err) = command(@$_, '-q', '-d', 'other');
		is("$status $err", $skips{"@$_"} // '0 ', "nothing of another role is called: @$_");
	}
	# nor what it has in the extension's own schema, which fits better as well
	$node->safe_psql('other', q{GRANT CREATE ON SCHEMA elsewhere TO stranger;
		DO $$ DECLARE f record; BEGIN FOR f IN SELECT oid::regprocedure AS name FROM pg_proc WHERE pronamespace = 'strange'::regnamespace AND proname ~ '^dyn_' LOOP
			BEGIN EXECUTE format('ALTER ROUTINE %s SET SCHEMA elsewhere', f.name); EXCEPTION WHEN duplicate_function THEN NULL; END; END LOOP; END $$});
	# but for functions whose arguments are those of ours, which cannot be there
	my %same = (export => qr/^0 \z/, workbench => qr/^1 dynamo_table: ERROR:  Table already exists: Model\n/);
	for (@commands)
	{
		($status, $out, $err) = command(@$_, '-q', '-d', 'other');
		like("$status $err", $same{$_->[0]} // qr/^1 dynamo_table: .*ERROR:  [^\n]*belongs to another relation or function/s,
			"nothing of another role in the extension's schema is called: @$_");
	}
}

done_testing();
