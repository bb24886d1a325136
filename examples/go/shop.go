// A shop on a table of items, with database/sql and pgx.  examples/shop.sql makes what it needs.
// The environment (PGHOST, PGDATABASE, PGUSER …) says which database.
package main

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	mathrand "math/rand"
	"strings"
	"time"

	"github.com/jackc/pgconn"
	_ "github.com/jackc/pgx/v4/stdlib"
)

const kettleKey = `{"pk":"PRODUCT#kettle","sk":"PRODUCT"}`

// product is what item::jsonb is decoded into: a set is a slice, base64 becomes bytes, and
// json.Number keeps all digits.
type product struct {
	Stock  int64       `json:"stock"`
	Serial json.Number `json:"serial"`
	Tags   []string    `json:"tags"`
	Photo  []byte      `json:"photo"`
}

type order struct {
	PK      string `json:"pk"`
	SK      string `json:"sk"`
	Product string `json:"product"`
	Pieces  int64  `json:"pieces"`
}

// queryer is a pool or a transaction.
type queryer interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// jsonOf is a parameter for $n::jsonb.
func jsonOf(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err) // the types of this program can all be JSON
	}
	return string(text)
}

// failure is the server's error, or one without a code.
func failure(err error) *pgconn.PgError {
	var e *pgconn.PgError
	if errors.As(err, &e) {
		return e
	}
	return &pgconn.PgError{}
}

// isConflict says whether the server has undone a transaction because of others, so that it can be
// done again.
func isConflict(err error) bool {
	switch failure(err).Code {
	case "40001", "40P01", "YD004":
		return true
	}
	return false
}

// fill puts an item with all digits, a set and bytes, as DynamoDB JSON, and items of plain JSON.
func fill(ctx context.Context, db *sql.DB) error {
	if _, err := db.ExecContext(ctx, "SELECT dyn_put('shop', $1)", `{"pk":{"S":"PRODUCT#kettle"},"sk":{"S":"PRODUCT"},"stock":{"N":"5"},
		"serial":{"N":"12345678901234567890123456789012345678"},"tags":{"SS":["new","red"]},"photo":{"B":"AQID"}}`); err != nil {
		return err
	}
	for n := 1; n <= 5; n++ {
		item := order{"CUSTOMER#ada", fmt.Sprintf("ORDER#%d", n), "kettle", 1}
		if _, err := db.ExecContext(ctx, "SELECT dyn_put('shop', $1::jsonb)", jsonOf(item)); err != nil {
			return err
		}
	}
	return nil
}

func getKettle(ctx context.Context, q queryer) (kettle product, err error) {
	var plain []byte
	if err = q.QueryRowContext(ctx, "SELECT dyn_get('shop', $1::jsonb)::jsonb", kettleKey).Scan(&plain); err == nil {
		err = json.Unmarshal(plain, &kettle)
	}
	return kettle, err
}

func show(ctx context.Context, db *sql.DB) error {
	kettle, err := getKettle(ctx, db)
	if err != nil {
		return err
	}
	fmt.Printf("kettle: %d in stock, tags %s, photo of %d bytes\n", kettle.Stock, strings.Join(kettle.Tags, " "), len(kettle.Photo))
	fmt.Println("serial number", kettle.Serial)
	var tagged int64
	if err := db.QueryRowContext(ctx, "SELECT count(*) FROM shop WHERE item ? $1", "tags").Scan(&tagged); err != nil {
		return err
	}
	fmt.Println("items with tags:", tagged)
	return nil
}

// orderPages calls back with the orders of a customer, a page at a time.
func orderPages(ctx context.Context, db *sql.DB, customer string, size int64, page func([]order)) error {
	vals := jsonOf(map[string]string{":pk": "CUSTOMER#" + customer, ":orders": "ORDER#"})
	var start sql.NullString
	for {
		var plain []byte
		var items []order
		// the key goes back as it has come, as text
		err := db.QueryRowContext(ctx, `
			SELECT to_jsonb(items), last_evaluated_key::text
			  FROM dyn_query_page('shop', 'pk = :pk AND begins_with(sk, :orders)', vals => $1::jsonb, page_size => $2, start_key => $3)`,
			vals, size, start).Scan(&plain, &start)
		if err != nil {
			return err
		}
		if err := json.Unmarshal(plain, &items); err != nil {
			return err
		}
		if len(items) > 0 {
			page(items)
		}
		if !start.Valid {
			return nil
		}
	}
}

// reserve takes pieces from the stock if there are as many, and returns how many are left.
func reserve(ctx context.Context, q queryer, pieces int64) (left int64, enough bool, err error) {
	err = q.QueryRowContext(ctx, `
		SELECT dyn_update('shop', $1::jsonb, 'SET stock = stock - :n', 'stock >= :n', vals => $2::jsonb,
		                  return_values => 'UPDATED_NEW') ->> 'stock'`,
		kettleKey, jsonOf(map[string]int64{":n": pieces})).Scan(&left)
	if failure(err).Code == "YD002" { // an answer, nothing to do again
		return 0, false, nil
	}
	return left, err == nil, err
}

// transaction does work in a transaction, and all of it again if the transaction was in conflict with another.
func transaction(ctx context.Context, db *sql.DB, level sql.IsolationLevel, work func(*sql.Tx) error) error {
	for attempt := 0; ; attempt++ {
		tx, err := db.BeginTx(ctx, &sql.TxOptions{Isolation: level})
		if err != nil {
			return err
		}
		if err = work(tx); err == nil {
			err = tx.Commit()
		}
		if err == nil {
			return nil
		}
		_ = tx.Rollback() // what failed is told
		if !isConflict(err) || attempt == 4 {
			return err
		}
		fmt.Println("once more after", failure(err).Code)
		time.Sleep(time.Duration(mathrand.Int63n(int64(50*time.Millisecond) << attempt)))
	}
}

// deliver fills the shelf up to 8.  While this is done for the first time, somebody else buys one.
func deliver(ctx context.Context, db *sql.DB) error {
	customers := 1
	err := transaction(ctx, db, sql.LevelRepeatableRead, func(tx *sql.Tx) error {
		kettle, err := getKettle(ctx, tx)
		if err != nil {
			return err
		}
		for ; customers > 0; customers-- {
			if _, _, err := reserve(ctx, db, 1); err != nil {
				return err
			}
		}
		if _, err := tx.ExecContext(ctx, "INSERT INTO deliveries (product, pieces) VALUES ('kettle', $1)", 8-kettle.Stock); err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, "SELECT dyn_update('shop', $1::jsonb, 'SET stock = :all', vals => $2::jsonb)", kettleKey, `{":all":8}`)
		return err
	})
	if err != nil {
		return err
	}
	var pieces int64
	if err := db.QueryRowContext(ctx, "SELECT sum(pieces)::bigint FROM deliveries").Scan(&pieces); err != nil {
		return err
	}
	fmt.Printf("%d delivered, 8 in stock\n", pieces)
	return nil
}

func newToken() string {
	token := make([]byte, 16)
	if _, err := rand.Read(token); err != nil {
		panic(err)
	}
	return hex.EncodeToString(token)
}

// placeOrder makes an order and takes its pieces from the stock: both or none, and once for a token.
func placeOrder(ctx context.Context, db *sql.DB, number string, pieces int64, token string) error {
	type object = map[string]any
	n := object{"N": fmt.Sprint(pieces)}
	actions := []object{
		{"Put": object{"TableName": "shop", "ConditionExpression": "attribute_not_exists(pk)",
			"Item": object{"pk": object{"S": "CUSTOMER#ada"}, "sk": object{"S": number}, "pieces": n}}},
		{"Update": object{"TableName": "shop", "Key": object{"pk": object{"S": "PRODUCT#kettle"}, "sk": object{"S": "PRODUCT"}},
			"UpdateExpression": "SET stock = stock - :n", "ConditionExpression": "stock >= :n",
			"ExpressionAttributeValues": object{":n": n}}},
	}
	var done bool
	err := db.QueryRowContext(ctx, "SELECT dyn_transact($1::text, $2)", jsonOf(actions), token).Scan(&done)
	switch e := failure(err); {
	case e.Code == "YD003":
		var detail struct{ CancellationReasons []struct{ Code string } }
		if err := json.Unmarshal([]byte(e.Detail), &detail); err != nil {
			return err
		}
		fmt.Printf("%s:", number)
		for _, reason := range detail.CancellationReasons {
			fmt.Print(" ", reason.Code)
		}
		fmt.Println()
	case err != nil:
		return err
	case done:
		fmt.Printf("%s: ordered\n", number)
	default:
		fmt.Printf("%s: ordered before\n", number)
	}
	return nil
}

// record is one of the stream; there are no keys in one of TRUNCATE.
type record struct {
	position, event string
	pk, sk          sql.NullString
}

func readStream(ctx context.Context, db *sql.DB, position string) (records []record, err error) {
	rows, err := db.QueryContext(ctx, `
		SELECT sequence_number, event_name, keys ->> 'pk', keys ->> 'sk'
		  FROM dyn_read_stream('shop', $1, max_records => 100, max_wait => '1 min')`, position)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var r record
		if err := rows.Scan(&r.position, &r.event, &r.pk, &r.sk); err != nil {
			return nil, err
		}
		records = append(records, r)
	}
	return records, rows.Err()
}

// countOrders applies records, and moves the position, in one transaction.  So each record counts once,
// also if two programs do this.
func countOrders(ctx context.Context, tx *sql.Tx, position string, records []record) error {
	result, err := tx.ExecContext(ctx, "UPDATE stream_positions SET position = $1 WHERE consumer = 'open orders' AND position = $2",
		records[len(records)-1].position, position)
	if err != nil {
		return err
	}
	if moved, err := result.RowsAffected(); err != nil || moved == 0 {
		return err
	}
	for _, r := range records {
		change, counts := map[string]int64{"INSERT": 1, "REMOVE": -1}[r.event]
		if !counts || !strings.HasPrefix(r.sk.String, "ORDER#") {
			continue
		}
		if _, err := tx.ExecContext(ctx, `
			INSERT INTO open_orders AS o VALUES ($1, $2)
			  ON CONFLICT (customer) DO UPDATE SET orders = o.orders + EXCLUDED.orders`,
			strings.TrimPrefix(r.pk.String, "CUSTOMER#"), change); err != nil {
			return err
		}
	}
	return nil
}

// follow counts open orders by the stream, until the first order is removed.  (Others go on for ever.)
func follow(ctx context.Context, db *sql.DB) error {
	for removed := false; !removed; {
		var position string
		if err := db.QueryRowContext(ctx, "SELECT position FROM stream_positions WHERE consumer = 'open orders'").Scan(&position); err != nil {
			return err
		}
		records, err := readStream(ctx, db, position)
		if err != nil {
			return err
		}
		if len(records) == 0 {
			continue
		}
		if err := transaction(ctx, db, sql.LevelDefault, func(tx *sql.Tx) error { return countOrders(ctx, tx, position, records) }); err != nil {
			return err
		}
		for _, r := range records {
			removed = removed || r.event == "REMOVE"
		}
	}
	var orders int64
	if err := db.QueryRowContext(ctx, "SELECT orders FROM open_orders WHERE customer = 'ada'").Scan(&orders); err != nil {
		return err
	}
	fmt.Printf("ada has %d open orders\n", orders)
	return nil
}

func run(ctx context.Context, db *sql.DB) error {
	if err := fill(ctx, db); err != nil {
		return err
	}
	if err := show(ctx, db); err != nil {
		return err
	}
	err := orderPages(ctx, db, "ada", 2, func(items []order) {
		fmt.Print("page:")
		for _, item := range items {
			fmt.Print(" ", item.SK)
		}
		fmt.Println()
	})
	if err != nil {
		return err
	}
	left, _, err := reserve(ctx, db, 2)
	if err != nil {
		return err
	}
	fmt.Printf("2 reserved, %d left\n", left)
	if _, enough, err := reserve(ctx, db, 4); err != nil {
		return err
	} else if !enough {
		fmt.Println("there are not 4")
	}
	if err := deliver(ctx, db); err != nil {
		return err
	}
	token := newToken()
	for i := 0; i < 2; i++ { // the second as after an answer that did not arrive
		if err := placeOrder(ctx, db, "ORDER#6", 1, token); err != nil {
			return err
		}
	}
	if err := placeOrder(ctx, db, "ORDER#7", 100, newToken()); err != nil {
		return err
	}
	if _, err := db.ExecContext(ctx, "SELECT dyn_delete('shop', $1::jsonb)", `{"pk":"CUSTOMER#ada","sk":"ORDER#1"}`); err != nil {
		return err
	}
	return follow(ctx, db)
}

func main() {
	db, err := sql.Open("pgx", "statement_timeout=90s")
	if err != nil {
		log.Fatal(err)
	}
	db.SetMaxOpenConns(4)
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	err = run(ctx, db)
	cancel()
	db.Close()
	if err != nil {
		log.Fatal(err)
	}
}
