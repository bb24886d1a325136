--
-- PostgreSQL database dump
--


-- Dumped from database version 15.18
-- Dumped by pg_dump version 15.18

SET statement_timeout = 0;
SET lock_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SELECT pg_catalog.set_config('search_path', '', false);
SET check_function_bodies = false;
SET xmloption = content;
SET client_min_messages = warning;
SET row_security = off;

--
-- Name: dynamo_table; Type: EXTENSION; Schema: -; Owner: -
--

CREATE EXTENSION IF NOT EXISTS dynamo_table WITH SCHEMA public;


--
-- Name: EXTENSION dynamo_table; Type: COMMENT; Schema: -; Owner: 
--

COMMENT ON EXTENSION dynamo_table IS 'DynamoDB data model in PostgreSQL: typed items, item collections, conditions, indexes';


SET default_tablespace = '';

SET default_table_access_method = dynamo_table;

--
-- Name: "Other.Table"; Type: TABLE; Schema: public; Owner: shop_owner
--

CREATE TABLE public."""Other.Table""" (
    item public.dyn_item NOT NULL,
    "Id" bytea NOT NULL,
    CONSTRAINT dynamo_keys CHECK (dynamo_internal.keys_match(item, '{"Id B"}'::text[], "Id"))
)
WITH (fillfactor='90');


ALTER TABLE public."""Other.Table""" OWNER TO shop_owner;

--
-- Name: shop; Type: TABLE; Schema: public; Owner: shop_owner
--

CREATE TABLE public.shop (
    item public.dyn_item NOT NULL,
    pk text NOT NULL COLLATE pg_catalog."C",
    sk text NOT NULL COLLATE pg_catalog."C",
    "Status" text COLLATE pg_catalog."C",
    "Placed" numeric,
    "Type" text COLLATE pg_catalog."C",
    "Total" numeric,
    "~by_total_item" public.dyn_item,
    "~ttl" numeric,
    CONSTRAINT dynamo_keys CHECK (dynamo_internal.keys_match(item, '{"pk S","sk S","Status S","Placed N","Type S","Total N","expires N","{\"keys\": [\"Type S\", \"Total N\", \"pk S\", \"sk S\"], \"attributes\": [\"Status\"], \"limit\": 1000, \"compression\": \"pglz\"}"}'::text[], pk, sk, "Status", "Placed", "Type", "Total", "~ttl", "~by_total_item"))
)
WITH (fillfactor='90', autovacuum_vacuum_scale_factor='0.01', autovacuum_vacuum_insert_scale_factor='0.01');
ALTER TABLE ONLY public.shop ALTER COLUMN "~by_total_item" SET STATISTICS 0;
ALTER TABLE ONLY public.shop ALTER COLUMN "~by_total_item" SET COMPRESSION pglz;

ALTER TABLE ONLY public.shop REPLICA IDENTITY FULL;


ALTER TABLE public.shop OWNER TO shop_owner;

--
-- Name: TABLE shop; Type: SECURITY LABEL; Schema: public; Owner: shop_owner
--

SECURITY LABEL FOR dynamo_table ON TABLE public.shop IS '{"entities": [{"entity": "Customer", "type_attribute": "Type", "type": "Customer", "keys": {"pk":"CUST#<CustomerId>","sk":"PROFILE"}, "attributes": {"CustomerId": {"type": "S", "required": true}, "Name": {"type": "S"}}}, {"entity": "Order", "type_attribute": "Type", "type": "Order", "keys": {"pk":"CUST#<CustomerId>","sk":"ORDER#<OrderId:05>"}, "attributes": {"CustomerId": {"type": "S", "required": true}, "OrderId": {"type": "N integer", "required": true}, "Placed": {"type": "N bigint"}, "Status": {"type": "S"}, "Total": {"type": "N"}}}], "access_patterns": [{"pattern": "orders by state", "operation": "Query", "request": {"IndexName": "by_status", "KeyConditionExpression": "#s = :s", "ExpressionAttributeNames": {"#s": "Status"}, "ExpressionAttributeValues": {":s": {"S": "<state>"}}}}], "migrations": [{"migration": "visitors", "steps": [{"name": "Customer", "entity": "Customer", "from": "public.visitors", "columns": ["id", "name"], "key": ["id"], "attributes": {"CustomerId": "id::text", "Name": "name"}}]}]}';


--
-- Name: customers; Type: VIEW; Schema: public; Owner: shop_owner
--

CREATE VIEW public.customers WITH (security_invoker='true') AS
 SELECT dynamo_internal.attribute(t.item, 'CustomerId'::text, 'S'::text, NULL::text) AS "CustomerId",
    dynamo_internal.attribute(t.item, 'Name'::text, 'S'::text, NULL::text) AS "Name"
   FROM public.shop t
  WHERE (dynamo_internal.is_entity(t.item, '{"entity": "Customer", "type_attribute": "Type", "type": "Customer", "keys": {"pk": "CUST#<CustomerId>"}, "attributes": {"CustomerId": "S"}}'::text, t.pk) AND dynamo_internal.is_entity(t.item, '{"entity": "Customer", "type_attribute": "Type", "type": "Customer", "keys": {"sk": "PROFILE"}, "attributes": {}}'::text, t.sk));


ALTER TABLE public.customers OWNER TO shop_owner;

--
-- Name: orders; Type: VIEW; Schema: public; Owner: shop_owner
--

CREATE VIEW public.orders WITH (security_invoker='true') AS
 SELECT dynamo_internal.attribute(t.item, 'CustomerId'::text, 'S'::text, NULL::text) AS "CustomerId",
    dynamo_internal.attribute(t.item, 'OrderId'::text, 'N'::text, NULL::integer) AS "OrderId",
    dynamo_internal.attribute(t.item, 'Placed'::text, 'N'::text, NULL::bigint) AS "Placed",
    dynamo_internal.attribute(t.item, 'Status'::text, 'S'::text, NULL::text) AS "Status",
    dynamo_internal.attribute(t.item, 'Total'::text, 'N'::text, NULL::numeric) AS "Total"
   FROM public.shop t
  WHERE (dynamo_internal.is_entity(t.item, '{"entity": "Order", "type_attribute": "Type", "type": "Order", "keys": {"pk": "CUST#<CustomerId>"}, "attributes": {"CustomerId": "S"}}'::text, t.pk) AND dynamo_internal.is_entity(t.item, '{"entity": "Order", "type_attribute": "Type", "type": "Order", "keys": {"sk": "ORDER#<OrderId:05>"}, "attributes": {"OrderId": "N"}}'::text, t.sk));


ALTER TABLE public.orders OWNER TO shop_owner;

SET default_table_access_method = heap;

--
-- Name: visitors; Type: TABLE; Schema: public; Owner: shop_owner
--

CREATE TABLE public.visitors (
    id integer NOT NULL,
    name text
);


ALTER TABLE public.visitors OWNER TO shop_owner;

--
-- Data for Name: access_key; Type: TABLE DATA; Schema: dynamo_internal; Owner: postgres
--

COPY dynamo_internal.access_key (key_id, role, role_oid, encrypted_secret, enabled, valid_until, created_at) FROM stdin;
\.


--
-- Data for Name: "Other.Table"; Type: TABLE DATA; Schema: public; Owner: shop_owner
--

COPY public."""Other.Table""" (item, "Id") FROM stdin;
{"Bin":{"BS":["AQ==","Ag=="]},"Id":{"B":"AAEC"},"Num":{"NS":["1","2.5"]},"Set":{"SS":["x","y"]}}	\\x000102
\.


--
-- Data for Name: shop; Type: TABLE DATA; Schema: public; Owner: shop_owner
--

COPY public.shop (item, pk, sk, "Status", "Placed", "Type", "Total", "~by_total_item", "~ttl") FROM stdin;
{"CustomerId":{"S":"1"},"Name":{"S":"Ada é"},"Tags":{"L":[{"S":"a"},{"N":"1"},{"NULL":true},{"M":{"x":{"BOOL":true}}}]},"Type":{"S":"Customer"},"pk":{"S":"CUST#1"},"sk":{"S":"PROFILE"}}	CUST#1	PROFILE	\N	\N	Customer	\N	\N	\N
{"CustomerId":{"S":"1"},"OrderId":{"N":"8"},"Placed":{"N":"1700000100"},"Status":{"S":"SENT"},"Total":{"N":"0.0000000001"},"Type":{"S":"Order"},"pk":{"S":"CUST#1"},"sk":{"S":"ORDER#00008"}}	CUST#1	ORDER#00008	SENT	1700000100	Order	0.0000000001	{"Status":{"S":"SENT"}}	\N
{"CustomerId":{"S":"2"},"OrderId":{"N":"9"},"Placed":{"N":"1700000200"},"Status":{"S":"OPEN"},"Total":{"N":"3"},"Type":{"S":"Order"},"pk":{"S":"CUST#2"},"sk":{"S":"ORDER#00009"}}	CUST#2	ORDER#00009	OPEN	1700000200	Order	3	{"Status":{"S":"OPEN"}}	\N
{"CustomerId":{"S":"1"},"OrderId":{"N":"7"},"Placed":{"N":"1700000000"},"Status":{"S":"OPEN"},"Total":{"N":"12.5"},"Type":{"S":"Order"},"expires":{"N":"4102444800"},"pk":{"S":"CUST#1"},"sk":{"S":"ORDER#00007"}}	CUST#1	ORDER#00007	OPEN	1700000000	Order	12.5	{"Status":{"S":"OPEN"}}	4102444800
\.


--
-- Data for Name: visitors; Type: TABLE DATA; Schema: public; Owner: shop_owner
--

COPY public.visitors (id, name) FROM stdin;
3	Grace
\.


--
-- Name: "Other.Table" "Other.Table"_pkey; Type: CONSTRAINT; Schema: public; Owner: shop_owner
--

ALTER TABLE ONLY public."""Other.Table"""
    ADD CONSTRAINT """Other.Table""_pkey" PRIMARY KEY ("Id");


--
-- Name: shop shop_pkey; Type: CONSTRAINT; Schema: public; Owner: shop_owner
--

ALTER TABLE ONLY public.shop
    ADD CONSTRAINT shop_pkey PRIMARY KEY (pk, sk);


--
-- Name: visitors visitors_pkey; Type: CONSTRAINT; Schema: public; Owner: shop_owner
--

ALTER TABLE ONLY public.visitors
    ADD CONSTRAINT visitors_pkey PRIMARY KEY (id);


--
-- Name: shop_by_status; Type: INDEX; Schema: public; Owner: shop_owner
--

CREATE INDEX shop_by_status ON public.shop USING btree ("Status", "Placed", pk, sk) WHERE (("Status" IS NOT NULL) AND ("Placed" IS NOT NULL));


--
-- Name: shop_by_total; Type: INDEX; Schema: public; Owner: shop_owner
--

CREATE INDEX shop_by_total ON public.shop USING btree ("Type", "Total", pk, sk) INCLUDE ("~by_total_item") WITH (fillfactor='70') WHERE (("Type" IS NOT NULL) AND ("Total" IS NOT NULL));


--
-- Name: shop_by_type; Type: INDEX; Schema: public; Owner: shop_owner
--

CREATE INDEX shop_by_type ON public.shop USING btree ("Type", sk, pk, dynamo_internal.carried(item, '{"keys": ["Type S", "sk S", "pk S"], "limit": 1000, "compression": "pglz"}'::text)) WITH (fillfactor='70') WHERE ("Type" IS NOT NULL);
ALTER INDEX public.shop_by_type ALTER COLUMN 4 SET STATISTICS 0;


--
-- Name: shop_ttl; Type: INDEX; Schema: public; Owner: shop_owner
--

CREATE INDEX shop_ttl ON public.shop USING btree ("~ttl") WHERE ("~ttl" IS NOT NULL);


--
-- Name: customers dynamo_entity; Type: TRIGGER; Schema: public; Owner: shop_owner
--

CREATE TRIGGER dynamo_entity INSTEAD OF INSERT OR DELETE OR UPDATE ON public.customers FOR EACH ROW EXECUTE FUNCTION dynamo_internal.entity_view_change();


--
-- Name: orders dynamo_entity; Type: TRIGGER; Schema: public; Owner: shop_owner
--

CREATE TRIGGER dynamo_entity INSTEAD OF INSERT OR DELETE OR UPDATE ON public.orders FOR EACH ROW EXECUTE FUNCTION dynamo_internal.entity_view_change();


--
-- Name: "Other.Table" ~dynamo_keys; Type: TRIGGER; Schema: public; Owner: shop_owner
--

CREATE TRIGGER "~dynamo_keys" BEFORE INSERT OR UPDATE ON public."""Other.Table""" FOR EACH ROW EXECUTE FUNCTION dynamo_internal.derive_keys('Id B');

ALTER TABLE public."""Other.Table""" ENABLE ALWAYS TRIGGER "~dynamo_keys";


--
-- Name: shop ~dynamo_keys; Type: TRIGGER; Schema: public; Owner: shop_owner
--

CREATE TRIGGER "~dynamo_keys" BEFORE INSERT OR UPDATE ON public.shop FOR EACH ROW EXECUTE FUNCTION dynamo_internal.derive_keys('pk S', 'sk S', '{"name": "by_status", "type": "global", "partition_key": ["Status S"], "sort_key": ["Placed N"], "projection": "ALL"}', '{"name": "by_total", "type": "global", "partition_key": ["Type S"], "sort_key": ["Total N"], "projection": "INCLUDE", "non_key_attributes": ["Status"], "covering": "column", "entry_limit": 1000, "compression": "pglz"}', '{"name": "by_type", "type": "global", "partition_key": ["Type S"], "sort_key": ["sk S"], "projection": "ALL", "covering": "expression", "entry_limit": 1000, "compression": "pglz"}', '{"settings": {"ttl_attribute": "expires", "hide_expired": true, "streams": [{"label": 1795970195637, "view_type": "NEW_AND_OLD_IMAGES", "shards": 4}], "replica_identity": "DEFAULT"}}');

ALTER TABLE public.shop ENABLE ALWAYS TRIGGER "~dynamo_keys";


--
-- Name: shop ~dynamo_model_check; Type: TRIGGER; Schema: public; Owner: shop_owner
--

CREATE TRIGGER "~dynamo_model_check" BEFORE INSERT OR UPDATE ON public.shop FOR EACH ROW EXECUTE FUNCTION dynamo_internal.model_check();

ALTER TABLE public.shop ENABLE ALWAYS TRIGGER "~dynamo_model_check";


--
-- Name: SCHEMA public; Type: ACL; Schema: -; Owner: pg_database_owner
--

GRANT CREATE ON SCHEMA public TO shop_owner;


--
-- PostgreSQL database dump complete
--


