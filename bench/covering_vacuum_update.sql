\set n random(0, 39999)
SELECT dyn_update(:name, jsonb_build_object('pk', 'customer#' || :n % 400, 'sk', 'order#' || :n / 400)::dyn_item, :add, vals => :one::dyn_item);
