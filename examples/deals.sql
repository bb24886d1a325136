\set ECHO all
-- Deals of the day: a shop window that all visitors read, with likes, watchers and messages.
-- It teaches: collections by day, single items for lists that all share, counters that agree with what they count, two
-- kinds of sparse indexes, copies of what is read most, and work that follows from changes.

-- Deals are read by day in three ways, so three indexes give each deal three more keys.  UserIndex has users only.
SELECT dyn_create_table('deals', 'PK S', 'SK S', global_indexes => '{
  "GSI1": {"partition_key": "GSI1PK S", "sort_key": "GSI1SK S"}, "GSI2": {"partition_key": "GSI2PK S", "sort_key": "GSI2SK S"},
  "GSI3": {"partition_key": "GSI3PK S", "sort_key": "GSI3SK S"}, "UserIndex": {"partition_key": "UserIndex S"}}');

SELECT count(dyn_create_entity('deals', entity, keys::jsonb, attributes)) AS entities FROM (VALUES
  -- One collection of all deals would grow for ever and be the only one that is read.  The day in the key bounds
  -- it; who wants more reads the day before.  The identifier, a KSUID, orders the deals of a day.
  ('Deal', '{"PK": "DEAL#<DealId>", "SK": "DEAL#<DealId>", "GSI1PK": "DEALS#<CreatedAt:day>", "GSI1SK": "DEAL#<DealId>",
       "GSI2PK": "BRAND#<Brand>#<CreatedAt:day>", "GSI2SK": "DEAL#<DealId>", "GSI3PK": "CATEGORY#<Category>#<CreatedAt:day>", "GSI3SK": "DEAL#<DealId>"}',
     '{"DealId": {"type": "S", "default": "ksuid"}, "Title": "S", "Price": "N numeric", "Brand": "S", "Category": "S", "CreatedAt": "S timestamptz(0)"}'),
  ('Brand', '{"PK": "BRAND#<Brand>", "SK": "BRAND#<Brand>"}', '{"Brand": "S", "LikesCount": "N integer", "WatchCount": "N integer"}'),
  -- One item for a list that is short and that everybody wants whole: its key is a constant.
  ('Brands', '{"PK": "BRANDS", "SK": "BRANDS"}', '{"Brands": "SS"}'),
  -- Nobody lists who likes a brand, so each like is a collection of its own, and the likes of a famous brand are spread.
  -- Watchers are listed, to write to them: they lie together.
  ('BrandLike', '{"PK": "BRANDLIKE#<Brand>#<Username>", "SK": "BRANDLIKE#<Brand>#<Username>"}', '{"Brand": "S", "Username": "S"}'),
  ('BrandWatch', '{"PK": "BRANDWATCH#<Brand>", "SK": "USER#<Username>"}', '{"Brand": "S", "Username": "S"}'),
  ('Category', '{"PK": "CATEGORY#<Category>", "SK": "CATEGORY#<Category>"}', '{"Category": "S", "FeaturedDeals": "L", "LikesCount": "N integer", "WatchCount": "N integer"}'),
  ('CategoryLike', '{"PK": "CATEGORYLIKE#<Category>#<Username>", "SK": "CATEGORYLIKE#<Category>#<Username>"}', '{"Category": "S", "Username": "S"}'),
  ('CategoryWatch', '{"PK": "CATEGORYWATCH#<Category>", "SK": "USER#<Username>"}', '{"Category": "S", "Username": "S"}'),
  ('FrontPage', '{"PK": "FRONTPAGE", "SK": "FRONTPAGE"}', '{"FeaturedDeals": "L"}'),
  ('EditorsChoice', '{"PK": "EDITORSCHOICE", "SK": "EDITORSCHOICE"}', '{"FeaturedDeals": "L"}'),
  -- Copies of the newest deals, for more readers than one item should have; each reader picks one of them.
  ('DealsCache', '{"PK": "DEALSCACHE#<Copy:02>", "SK": "DEALSCACHE#<Copy:02>"}', '{"Copy": "N integer", "Deals": "L"}'),
  -- Sparse, first kind: UserIndex has one kind of items, so reading all of it is reading all users and nothing else.
  ('User', '{"PK": "USER#<Username>", "SK": "USER#<Username>", "UserIndex": "USER#<Username>"}', '{"Username": "S", "Name": "S"}'),
  -- Sparse, second kind: a message is in GSI1 as long as it is unread.
  ('Message', '{"PK": "MESSAGES#<Username>", "SK": "MESSAGE#<MessageId>",
       "GSI1PK": [{"when": {"Unread": "True"}, "template": "MESSAGES#<Username>"}], "GSI1SK": [{"when": {"Unread": "True"}, "template": "MESSAGE#<MessageId>"}]}',
     '{"Username": "S", "MessageId": {"type": "S", "default": "ksuid"}, "Subject": "S", "DealId": "S", "Unread": "S"}')
) v (entity, keys, attributes);

SELECT count(dyn_create_access_pattern('deals', name, operation, request::jsonb, entity, notes)) AS access_patterns FROM (VALUES
  ('create_brand', 'TransactWriteItems', '{"TransactItems": [
     {"Put": {"Item": {"PK": {"S": "BRAND#<Brand>"}, "SK": {"S": "BRAND#<Brand>"}, "Type": {"S": "Brand"}, "Brand": {"S": "<Brand>"}, "LikesCount": {"N": "0"}, "WatchCount": {"N": "0"}},
              "ConditionExpression": "attribute_not_exists(PK)"}},
     {"Update": {"Key": {"PK": {"S": "BRANDS"}, "SK": {"S": "BRANDS"}}, "UpdateExpression": "ADD Brands :brand SET #type = :type",
                 "ExpressionAttributeNames": {"#type": "Type"}, "ExpressionAttributeValues": {":brand": {"SS": ["<Brand>"]}, ":type": {"S": "Brands"}}}}]}', 'Brand', 'and its name goes into the set of all brands'),
  ('all_brands', 'GetItem', '{"Key": {"PK": {"S": "BRANDS"}, "SK": {"S": "BRANDS"}}}', 'Brands', NULL),
  ('brand', 'GetItem', '{"Key": {"PK": {"S": "BRAND#<Brand>"}, "SK": {"S": "BRAND#<Brand>"}}}', 'Brand', NULL),
  ('category', 'GetItem', '{"Key": {"PK": {"S": "CATEGORY#<Category>"}, "SK": {"S": "CATEGORY#<Category>"}}}', 'Category', 'with its featured deals'),
  ('front_page', 'GetItem', '{"Key": {"PK": {"S": "FRONTPAGE"}, "SK": {"S": "FRONTPAGE"}}}', 'FrontPage', NULL),
  ('editors_choice', 'GetItem', '{"Key": {"PK": {"S": "EDITORSCHOICE"}, "SK": {"S": "EDITORSCHOICE"}}}', 'EditorsChoice', NULL),
  ('cached_deals', 'GetItem', '{"Key": {"PK": {"S": "DEALSCACHE#<Copy:02>"}, "SK": {"S": "DEALSCACHE#<Copy:02>"}}}', 'DealsCache', 'Copy is a random number of 1 to 3'),
  ('deal', 'GetItem', '{"Key": {"PK": {"S": "DEAL#<DealId>"}, "SK": {"S": "DEAL#<DealId>"}}}', 'Deal', NULL),
  ('deals_of_day', 'Query', '{"IndexName": "GSI1", "KeyConditionExpression": "GSI1PK = :day", "ScanIndexForward": false, "Limit": 25,
     "ExpressionAttributeValues": {":day": {"S": "DEALS#<Day>"}}}', 'Deal', 'newest first'),
  ('more_deals_of_day', 'Query', '{"IndexName": "GSI1", "KeyConditionExpression": "GSI1PK = :day AND GSI1SK < :last", "ScanIndexForward": false, "Limit": 25,
     "ExpressionAttributeValues": {":day": {"S": "DEALS#<Day>"}, ":last": {"S": "DEAL#<DealId>"}}}', 'Deal', 'the next page'),
  ('deals_of_brand', 'Query', '{"IndexName": "GSI2", "KeyConditionExpression": "GSI2PK = :day", "ScanIndexForward": false, "Limit": 25,
     "ExpressionAttributeValues": {":day": {"S": "BRAND#<Brand>#<Day>"}}}', 'Deal', NULL),
  ('deals_of_category', 'Query', '{"IndexName": "GSI3", "KeyConditionExpression": "GSI3PK = :day", "ScanIndexForward": false, "Limit": 25,
     "ExpressionAttributeValues": {":day": {"S": "CATEGORY#<Category>#<Day>"}}}', 'Deal', NULL),
  ('like_brand', 'TransactWriteItems', '{"TransactItems": [
     {"Put": {"Item": {"PK": {"S": "BRANDLIKE#<Brand>#<Username>"}, "SK": {"S": "BRANDLIKE#<Brand>#<Username>"}, "Type": {"S": "BrandLike"}, "Brand": {"S": "<Brand>"}, "Username": {"S": "<Username>"}},
              "ConditionExpression": "attribute_not_exists(PK)"}},
     {"Update": {"Key": {"PK": {"S": "BRAND#<Brand>"}, "SK": {"S": "BRAND#<Brand>"}}, "ConditionExpression": "attribute_exists(PK)",
                 "UpdateExpression": "SET LikesCount = LikesCount + :one", "ExpressionAttributeValues": {":one": {"N": "1"}}}}]}', 'BrandLike', 'once a user; the count agrees'),
  ('watch_brand', 'TransactWriteItems', '{"TransactItems": [
     {"Put": {"Item": {"PK": {"S": "BRANDWATCH#<Brand>"}, "SK": {"S": "USER#<Username>"}, "Type": {"S": "BrandWatch"}, "Brand": {"S": "<Brand>"}, "Username": {"S": "<Username>"}},
              "ConditionExpression": "attribute_not_exists(PK)"}},
     {"Update": {"Key": {"PK": {"S": "BRAND#<Brand>"}, "SK": {"S": "BRAND#<Brand>"}}, "ConditionExpression": "attribute_exists(PK)",
                 "UpdateExpression": "SET WatchCount = WatchCount + :one", "ExpressionAttributeValues": {":one": {"N": "1"}}}}]}', 'BrandWatch', NULL),
  ('like_category', 'TransactWriteItems', '{"TransactItems": [
     {"Put": {"Item": {"PK": {"S": "CATEGORYLIKE#<Category>#<Username>"}, "SK": {"S": "CATEGORYLIKE#<Category>#<Username>"}, "Type": {"S": "CategoryLike"}, "Category": {"S": "<Category>"}, "Username": {"S": "<Username>"}},
              "ConditionExpression": "attribute_not_exists(PK)"}},
     {"Update": {"Key": {"PK": {"S": "CATEGORY#<Category>"}, "SK": {"S": "CATEGORY#<Category>"}}, "ConditionExpression": "attribute_exists(PK)",
                 "UpdateExpression": "SET LikesCount = LikesCount + :one", "ExpressionAttributeValues": {":one": {"N": "1"}}}}]}', 'CategoryLike', NULL),
  ('watch_category', 'TransactWriteItems', '{"TransactItems": [
     {"Put": {"Item": {"PK": {"S": "CATEGORYWATCH#<Category>"}, "SK": {"S": "USER#<Username>"}, "Type": {"S": "CategoryWatch"}, "Category": {"S": "<Category>"}, "Username": {"S": "<Username>"}},
              "ConditionExpression": "attribute_not_exists(PK)"}},
     {"Update": {"Key": {"PK": {"S": "CATEGORY#<Category>"}, "SK": {"S": "CATEGORY#<Category>"}}, "ConditionExpression": "attribute_exists(PK)",
                 "UpdateExpression": "SET WatchCount = WatchCount + :one", "ExpressionAttributeValues": {":one": {"N": "1"}}}}]}', 'CategoryWatch', NULL),
  ('watchers_of_brand', 'Query', '{"KeyConditionExpression": "PK = :b", "ExpressionAttributeValues": {":b": {"S": "BRANDWATCH#<Brand>"}}}', 'BrandWatch', 'to write to them'),
  ('watchers_of_category', 'Query', '{"KeyConditionExpression": "PK = :c", "ExpressionAttributeValues": {":c": {"S": "CATEGORYWATCH#<Category>"}}}', 'CategoryWatch', NULL),
  ('all_users', 'Scan', '{"IndexName": "UserIndex"}', 'User', 'an index of users only'),
  ('messages', 'Query', '{"KeyConditionExpression": "PK = :m", "ScanIndexForward": false, "ExpressionAttributeValues": {":m": {"S": "MESSAGES#<Username>"}}}', 'Message', 'newest first'),
  ('unread_messages', 'Query', '{"IndexName": "GSI1", "KeyConditionExpression": "GSI1PK = :m", "ScanIndexForward": false, "ExpressionAttributeValues": {":m": {"S": "MESSAGES#<Username>"}}}', 'Message', 'a sparse index'),
  ('mark_as_read', 'UpdateItem', '{"Key": {"PK": {"S": "MESSAGES#<Username>"}, "SK": {"S": "MESSAGE#<MessageId>"}}, "ConditionExpression": "attribute_exists(PK)",
     "UpdateExpression": "SET Unread = :no REMOVE GSI1PK, GSI1SK", "ExpressionAttributeValues": {":no": {"S": "False"}}}', 'Message', 'and out of the index')
) v (name, operation, request, entity, notes);

-- Create Brand, twice: the name is unique, and the set follows.
SELECT dyn_run_access_pattern('deals', 'create_brand', '{"Brand": "Acme"}'::jsonb);
SELECT dyn_run_access_pattern('deals', 'create_brand', '{"Brand": "Zenith"}'::jsonb);
SELECT dyn_run_access_pattern('deals', 'create_brand', '{"Brand": "Acme"}'::jsonb);
-- Fetch all brands.
SELECT item->'Brands' AS brands FROM dyn_run_access_pattern('deals', 'all_brands') item;

-- Create Category, Create User, Create Deal: as rows of views.  A user is created once.
SELECT dyn_create_entity_view('deals', 'Category'), dyn_create_entity_view('deals', 'User'), dyn_create_entity_view('deals', 'Deal'), dyn_create_entity_view('deals', 'Message');
INSERT INTO "Category" ("Category", "LikesCount", "WatchCount") VALUES ('Kitchen', 0, 0), ('Garden', 0, 0);
INSERT INTO "User" ("Username", "Name") VALUES ('ann', 'Ann'), ('bob', 'Bob'), ('carol', 'Carol');
INSERT INTO "User" ("Username", "Name") VALUES ('ann', 'Another Ann');
INSERT INTO "Deal" ("DealId", "Title", "Price", "Brand", "Category", "CreatedAt") VALUES
  ('2cLbqzp3La9KN81TAQjebe23WUz', 'Red kettle', 29.90, 'Acme', 'Kitchen', '2024-02-14 07:00Z'),
  ('2cOYH276U169atIohl4upPKOsV9', 'Garden hose', 19.90, 'Zenith', 'Garden', '2024-02-15 08:00Z'),
  ('2cPfav9eKppxpUiSZjd08IPPwhs', 'Blue cup', 4.90, 'Acme', 'Kitchen', '2024-02-15 17:30Z'),
  ('2cR8nvjKkWHEIVGD0O5bzoqlk7M', 'Toaster', 39.90, 'Zenith', 'Kitchen', '2024-02-16 06:00Z'),
  ('2cRUhAdPEKHmFsKaXieWjUbVoNl', 'Spade', 14.90, 'Acme', 'Garden', '2024-02-16 09:00Z');

-- Fetch deal.
SELECT item->>'Title' AS title, item->>'Price' AS price FROM dyn_run_access_pattern('deals', 'deal', '{"DealId": "2cPfav9eKppxpUiSZjd08IPPwhs"}'::jsonb) item;

-- Set featured deals: copies of what the page shows, and always the whole list, so that no copy is ever updated by itself.
SELECT dyn_put_entity('deals', entity, jsonb_build_object('FeaturedDeals', deals)) IS NULL AS set FROM (VALUES
  ('FrontPage', '[{"DealId": "2cR8nvjKkWHEIVGD0O5bzoqlk7M", "Title": "Toaster"}, {"DealId": "2cLbqzp3La9KN81TAQjebe23WUz", "Title": "Red kettle"}]'::jsonb),
  ('EditorsChoice', '[{"DealId": "2cRUhAdPEKHmFsKaXieWjUbVoNl", "Title": "Spade"}]')) v (entity, deals);
SELECT dyn_update_entity('deals', 'Category', '{"Category": "Kitchen"}'::jsonb, 'SET FeaturedDeals = :deals', 'attribute_exists(PK)',
  vals => '{":deals": [{"DealId": "2cPfav9eKppxpUiSZjd08IPPwhs", "Title": "Blue cup"}]}'::jsonb);

-- Fetch front page: the featured deals, and beside them the newest, day by day backward until there are enough, at most five
-- days.  LIMIT ends the reading: days before those that are needed are not read.
SELECT jsonb_path_query_array(item::jsonb, '$.FeaturedDeals[*].Title') AS featured FROM dyn_run_access_pattern('deals', 'front_page') item;
SELECT item->>'CreatedAt' AS created, item->>'Title' AS title FROM generate_series(0, 4) ago,
  dyn_run_access_pattern('deals', 'deals_of_day', jsonb_build_object('Day', '2024-02-16'::date - ago)) item LIMIT 3;
-- The next page begins below the last deal that was shown.
SELECT item->>'CreatedAt' AS created, item->>'Title' AS title FROM dyn_run_access_pattern('deals', 'more_deals_of_day',
  '{"Day": "2024-02-15", "DealId": "2cPfav9eKppxpUiSZjd08IPPwhs"}'::jsonb) item;

-- Fetch category, and latest deals for brand: the parent and its deals by day are two reads, since the days are collections of their own.
SELECT item->>'Category' AS category, jsonb_path_query_array(item::jsonb, '$.FeaturedDeals[*].Title') AS featured FROM dyn_run_access_pattern('deals', 'category', '{"Category": "Kitchen"}'::jsonb) item;
SELECT item->>'Title' AS kitchen FROM generate_series(0, 4) ago,
  dyn_run_access_pattern('deals', 'deals_of_category', jsonb_build_object('Category', 'Kitchen', 'Day', '2024-02-16'::date - ago)) item LIMIT 25;
SELECT item->>'Title' AS acme FROM generate_series(0, 4) ago,
  dyn_run_access_pattern('deals', 'deals_of_brand', jsonb_build_object('Brand', 'Acme', 'Day', '2024-02-16'::date - ago)) item LIMIT 25;
-- Fetch editor's choice.
SELECT jsonb_path_query_array(item::jsonb, '$.FeaturedDeals[*].Title') AS editors_choice FROM dyn_run_access_pattern('deals', 'editors_choice') item;

-- Fetch front page from a copy: three items with the deals of two days, written together when a deal is new.
SELECT dyn_batch_write('deals', puts => array_agg(dyn_entity_item('deals', 'DealsCache', jsonb_build_object('Copy', copy, 'Deals', deals)))) FROM generate_series(1, 3) copy,
  (SELECT jsonb_agg(jsonb_build_object('DealId', "DealId", 'Title', "Title") ORDER BY "DealId" DESC) FROM "Deal" WHERE "CreatedAt" >= '2024-02-15Z') d (deals);
SELECT jsonb_path_query_array(item::jsonb, '$.Deals[*].Title') AS newest FROM dyn_run_access_pattern('deals', 'cached_deals', jsonb_build_object('Copy', 1 + floor(random() * 3))) item;

-- Like and watch: the item that proves it, and the count, in one transaction.  A second like changes nothing, and a brand that is not there
-- does not come to be.
SELECT dyn_run_access_pattern('deals', 'like_brand', '{"Brand": "Acme", "Username": "ann"}'::jsonb);
SELECT dyn_run_access_pattern('deals', 'like_brand', '{"Brand": "Acme", "Username": "bob"}'::jsonb);
SELECT dyn_run_access_pattern('deals', 'like_brand', '{"Brand": "Acme", "Username": "ann"}'::jsonb);
SELECT dyn_run_access_pattern('deals', 'like_brand', '{"Brand": "Nobody", "Username": "ann"}'::jsonb);
SELECT dyn_run_access_pattern('deals', 'watch_brand', '{"Brand": "Acme", "Username": "carol"}'::jsonb);
SELECT dyn_run_access_pattern('deals', 'like_category', '{"Category": "Garden", "Username": "ann"}'::jsonb);
SELECT dyn_run_access_pattern('deals', 'watch_category', '{"Category": "Garden", "Username": "ann"}'::jsonb);
SELECT dyn_run_access_pattern('deals', 'watch_category', '{"Category": "Garden", "Username": "bob"}'::jsonb);
SELECT item->>'Brand' AS brand, item->>'LikesCount' AS likes, item->>'WatchCount' AS watchers FROM dyn_run_access_pattern('deals', 'brand', '{"Brand": "Acme"}'::jsonb) item;
SELECT item->>'Category' AS category, item->>'LikesCount' AS likes, item->>'WatchCount' AS watchers FROM dyn_run_access_pattern('deals', 'category', '{"Category": "Garden"}'::jsonb) item;

-- Send hot deal to all users: read the index of users, and write a message to each.
INSERT INTO "Message" ("Username", "MessageId", "Subject", "DealId", "Unread")
  SELECT item->>'Username', '2cSCTWGOhSHqVjCFbQU0mbVBqE0', 'Hot: Toaster', '2cR8nvjKkWHEIVGD0O5bzoqlk7M', 'True' FROM dyn_run_access_pattern('deals', 'all_users') item;

-- Send brand and category deals: work that follows from a new deal.  The identifier of the message is the deal's, so that doing it
-- twice, which may happen to whoever follows changes, sends it once.
CREATE FUNCTION send_deal(deal dyn_item) RETURNS bigint LANGUAGE sql AS $$
  WITH watchers AS (
    SELECT item->>'Username' AS username FROM dyn_run_access_pattern('deals', 'watchers_of_brand', jsonb_build_object('Brand', deal->>'Brand')) item
    UNION SELECT item->>'Username' FROM dyn_run_access_pattern('deals', 'watchers_of_category', jsonb_build_object('Category', deal->>'Category')) item),
  sent AS (
    INSERT INTO deals (item) SELECT dyn_entity_item('deals', 'Message', jsonb_build_object('Username', username, 'MessageId', deal->>'DealId',
        'Subject', 'New: ' || (deal->>'Title'), 'DealId', deal->>'DealId', 'Unread', 'True')) FROM watchers ON CONFLICT DO NOTHING RETURNING 1)
  SELECT count(*) FROM sent $$;

-- The table's stream has a record of each change, by whomever.  It needs wal_level = logical, and a role with the attribute REPLICATION
-- that has called dyn_setup_streams() once in this database, and a collector: preload the library.
SELECT state = 'ready' AS streams FROM dyn_stream_slots \gset
\if :streams
  SELECT dyn_enable_stream('deals', 'NEW_IMAGE') IS NOT NULL AS enabled;
  INSERT INTO "Deal" ("DealId", "Title", "Price", "Brand", "Category", "CreatedAt") VALUES
    ('2cSuFxRZ0JDDpCvuejwGKddwrP7', 'Watering can', 9.90, 'Acme', 'Garden', '2024-02-16 21:00Z');
  SELECT event_name, new_image->>'Title' AS title, send_deal(new_image) AS sent, send_deal(new_image) AS sent_again
    FROM dyn_read_stream('deals', max_wait => '1 min') WHERE event_name = 'INSERT' AND new_image->>'Type' = 'Deal';
\else
  \echo no stream: the new deal is left out
\endif

-- View messages, view unread, mark as read: what is read leaves the index, and nothing else changes.
SELECT item->>'Subject' AS subject, item->>'Unread' AS unread FROM dyn_run_access_pattern('deals', 'messages', '{"Username": "carol"}'::jsonb) item;
SELECT dyn_run_access_pattern('deals', 'mark_as_read', '{"Username": "carol", "MessageId": "2cSCTWGOhSHqVjCFbQU0mbVBqE0"}'::jsonb);
SELECT item->>'Subject' AS unread FROM dyn_run_access_pattern('deals', 'unread_messages', '{"Username": "carol"}'::jsonb) item;
-- By the entity, the index's keys need not be named: its templates say that they go.
SELECT dyn_update_entity('deals', 'Message', '{"Username": "bob", "MessageId": "2cSCTWGOhSHqVjCFbQU0mbVBqE0"}'::jsonb, 'SET Unread = :no', 'attribute_exists(PK)',
  vals => '{":no": "False"}'::jsonb, return_values => 'UPDATED_NEW');
SELECT item->>'Subject' AS unread FROM dyn_run_access_pattern('deals', 'unread_messages', '{"Username": "bob"}'::jsonb) item;

-- What was declared, and what the indexes hold.
\pset tuples_only on
SELECT dyn_entity_chart('deals');
SELECT dyn_table_chart('deals', 'GSI1');
SELECT dyn_table_chart('deals', 'GSI2');
SELECT dyn_table_chart('deals', 'UserIndex');
SELECT dyn_access_pattern_chart('deals');
\pset tuples_only off

-- In SQL, what no key serves: whether each count agrees with what it counts, and nothing is other than declared.
SELECT dyn_create_entity_view('deals', 'Brand'), dyn_create_entity_view('deals', 'BrandLike'), dyn_create_entity_view('deals', 'BrandWatch');
SELECT "Brand", "LikesCount" = (SELECT count(*) FROM "BrandLike" l WHERE l."Brand" = b."Brand") AS likes_agree,
       "WatchCount" = (SELECT count(*) FROM "BrandWatch" w WHERE w."Brand" = b."Brand") AS watchers_agree FROM "Brand" b ORDER BY 1;
SELECT count(*) AS problems FROM dyn_check_entities('deals');
