// A shop on a table of items, with JDBC.  examples/shop.sql makes what it needs.
// The environment's JDBC_URL says which database.
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.sql.Types;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ThreadLocalRandom;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.postgresql.util.PSQLException;

class Shop {
  static final String KETTLE = "{\"pk\":\"PRODUCT#kettle\",\"sk\":\"PRODUCT\"}";

  // What the server has undone because of others, so that it can be done again.
  static final Set<String> CONFLICTS = Set.of("40001", "40P01", "YD004");

  interface Work {
    void run() throws SQLException;
  }

  record Change(String position, String event, String pk, String sk) {}

  // JDBC sends strings as varchar, so the statement casts them: ?::jsonb plain JSON, ?::dyn_item DynamoDB JSON.
  static PreparedStatement prepare(Connection c, String sql, Object... parameters) throws SQLException {
    PreparedStatement s = c.prepareStatement(sql);
    for (int i = 0; i < parameters.length; i++) s.setObject(i + 1, parameters[i]);
    return s;
  }

  static void run(Connection c, String sql, Object... parameters) throws SQLException {
    try (PreparedStatement s = prepare(c, sql, parameters)) {
      s.execute();
    }
  }

  /** The one value of a statement. */
  static String value(Connection c, String sql, Object... parameters) throws SQLException {
    try (PreparedStatement s = prepare(c, sql, parameters); ResultSet r = s.executeQuery()) {
      return r.next() ? r.getString(1) : null;
    }
  }

  /** An item with all digits, a set and bytes, as DynamoDB JSON; and items of plain JSON, which the server makes. */
  static void fill(Connection c) throws SQLException {
    run(c, "SELECT dyn_put('shop', ?::dyn_item)", """
        {"pk":{"S":"PRODUCT#kettle"},"sk":{"S":"PRODUCT"},"stock":{"N":"5"},"tags":{"SS":["new","red"]},"photo":{"B":"AQID"},
         "serial":{"N":"12345678901234567890123456789012345678"}}""");
    for (int n = 1; n <= 5; n++)
      run(c, "SELECT dyn_put('shop', jsonb_build_object('pk', 'CUSTOMER#ada', 'sk', ?::text, 'product', 'kettle', 'pieces', ?))", "ORDER#" + n, 1);
  }

  static void show(Connection c) throws SQLException {
    String sql = """
        SELECT item->>'stock', item->>'serial', decode(item->>'photo', 'base64'),
               ARRAY(SELECT jsonb_array_elements_text((item->'tags')::jsonb))
          FROM dyn_get('shop', ?::jsonb) AS item""";
    try (PreparedStatement s = prepare(c, sql, KETTLE); ResultSet r = s.executeQuery()) {
      r.next();
      System.out.printf("kettle: %d in stock, tags %s, photo of %d bytes%n", r.getLong(1),
          String.join(" ", (String[]) r.getArray(4).getArray()), r.getBytes(3).length);
      System.out.println("serial number " + r.getBigDecimal(2));
    }
    // ? is a parameter, so the operator ? is written ??
    System.out.println("items with tags: " + value(c, "SELECT count(*) FROM shop WHERE item ?? ?", "tags"));
  }

  /** Print the orders of a customer, a page at a time. */
  static void printOrders(Connection c, String customer, int size) throws SQLException {
    String sql = """
        SELECT ARRAY(SELECT item->>'sk' FROM unnest(items) AS item), last_evaluated_key
          FROM dyn_query_page('shop', 'pk = :pk AND begins_with(sk, :orders)',
                              vals => jsonb_build_object(':pk', ?::text, ':orders', 'ORDER#'), page_size => ?, start_key => ?::dyn_item)""";
    try (PreparedStatement s = prepare(c, sql, "CUSTOMER#" + customer, size)) {
      s.setNull(3, Types.VARCHAR);
      boolean more = true;
      while (more) {
        try (ResultSet r = s.executeQuery()) {
          r.next();
          String[] items = (String[]) r.getArray(1).getArray();
          if (items.length > 0) System.out.println("page: " + String.join(" ", items));
          String next = r.getString(2); // the key goes back as it has come
          more = next != null;
          s.setString(3, next);
        }
      }
    }
  }

  /** Take pieces from the stock if there are as many: how many are left, or -1. */
  static long reserve(Connection c, int pieces) throws SQLException {
    try {
      return Long.parseLong(value(c, """
          SELECT dyn_update('shop', ?::jsonb, 'SET stock = stock - :n', 'stock >= :n', vals => jsonb_build_object(':n', ?),
                            return_values => 'UPDATED_NEW')->>'stock'""", KETTLE, pieces));
    } catch (SQLException e) {
      if (e.getSQLState().equals("YD002")) return -1; // an answer, nothing to do again
      throw e;
    }
  }

  /** Do work in a transaction, and all of it again if the transaction was in conflict with another. */
  static void transaction(Connection c, int level, Work work) throws SQLException, InterruptedException {
    for (int attempt = 0;; attempt++) {
      int before = c.getTransactionIsolation();
      c.setTransactionIsolation(level);
      c.setAutoCommit(false);
      try {
        work.run();
        c.commit();
        return;
      } catch (SQLException e) {
        c.rollback();
        if (!CONFLICTS.contains(e.getSQLState()) || attempt == 4) throw e;
        System.out.println("once more after " + e.getSQLState());
      } finally {
        c.setAutoCommit(true);
        c.setTransactionIsolation(before);
      }
      Thread.sleep(ThreadLocalRandom.current().nextLong(50L << attempt));
    }
  }

  /** Fill the shelf up to 8.  While this is done for the first time, somebody else buys one. */
  static void deliver(Connection c, Connection other) throws SQLException, InterruptedException {
    List<Integer> customers = new ArrayList<>(List.of(1));
    transaction(c, Connection.TRANSACTION_REPEATABLE_READ, () -> {
      long stock = Long.parseLong(value(c, "SELECT dyn_get('shop', ?::jsonb)->>'stock'", KETTLE));
      if (!customers.isEmpty()) reserve(other, customers.remove(0));
      run(c, "INSERT INTO deliveries (product, pieces) VALUES ('kettle', ?)", 8 - stock);
      run(c, "SELECT dyn_update('shop', ?::jsonb, 'SET stock = :all', vals => jsonb_build_object(':all', 8))", KETTLE);
    });
    System.out.println(value(c, "SELECT sum(pieces) FROM deliveries") + " delivered, 8 in stock");
  }

  /** An order, and what it takes from the stock: both or none, and once for a token. */
  static void order(Connection c, String number, int pieces, String token) throws SQLException {
    String actions = """
        [{"Put": {"TableName": "shop", "Item": {"pk": {"S": "CUSTOMER#ada"}, "sk": {"S": "%1$s"}, "pieces": {"N": "%2$d"}},
                  "ConditionExpression": "attribute_not_exists(pk)"}},
         {"Update": {"TableName": "shop", "Key": {"pk": {"S": "PRODUCT#kettle"}, "sk": {"S": "PRODUCT"}},
                     "UpdateExpression": "SET stock = stock - :n", "ConditionExpression": "stock >= :n",
                     "ExpressionAttributeValues": {":n": {"N": "%2$d"}}}}]""".formatted(number, pieces);
    try {
      boolean done = value(c, "SELECT dyn_transact(?, ?)", actions, token).equals("t");
      System.out.println(number + (done ? ": ordered" : ": ordered before"));
    } catch (PSQLException e) {
      if (!e.getSQLState().equals("YD003")) throw e;
      // the reasons are JSON; a library reads them better than this
      String detail = e.getServerErrorMessage().getDetail();
      System.out.println(number + ": " + Pattern.compile("\"Code\":\"(\\w+)\"").matcher(detail).results()
          .map(m -> m.group(1)).collect(Collectors.joining(" ")));
    }
  }

  static List<Change> readStream(Connection c, String position) throws SQLException {
    List<Change> changes = new ArrayList<>();
    String sql = """
        SELECT sequence_number, event_name, keys->>'pk', keys->>'sk'
          FROM dyn_read_stream('shop', ?, max_records => 100, max_wait => '1 min')""";
    try (PreparedStatement s = prepare(c, sql, position); ResultSet r = s.executeQuery()) {
      while (r.next()) changes.add(new Change(r.getString(1), r.getString(2), r.getString(3), r.getString(4)));
    }
    return changes;
  }

  /** Count open orders by the stream, until the first order is removed.  (Others go on for ever.) */
  static void follow(Connection c) throws SQLException, InterruptedException {
    Map<String, Integer> step = Map.of("INSERT", 1, "REMOVE", -1);
    boolean removed = false;
    while (!removed) {
      String position = value(c, "SELECT position FROM stream_positions WHERE consumer = 'open orders'");
      List<Change> changes = readStream(c, position);
      if (changes.isEmpty()) continue;
      transaction(c, Connection.TRANSACTION_READ_COMMITTED, () -> {
        // effects and position are one transaction, so each record counts once, also if two programs do this
        try (PreparedStatement s = prepare(c, "UPDATE stream_positions SET position = ? WHERE consumer = 'open orders' AND position = ?",
                                           changes.get(changes.size() - 1).position(), position)) {
          if (s.executeUpdate() == 0) return;
        }
        for (Change change : changes)
          if (step.containsKey(change.event()) && change.sk().startsWith("ORDER#"))
            run(c, """
                INSERT INTO open_orders AS o VALUES (?, ?)
                  ON CONFLICT (customer) DO UPDATE SET orders = o.orders + EXCLUDED.orders""",
                change.pk().substring("CUSTOMER#".length()), step.get(change.event()));
      });
      removed = changes.stream().anyMatch(change -> change.event().equals("REMOVE"));
    }
    System.out.println("ada has " + value(c, "SELECT orders FROM open_orders WHERE customer = 'ada'") + " open orders");
  }

  static Connection connect() throws SQLException {
    Connection c = DriverManager.getConnection(System.getenv("JDBC_URL"));
    try (Statement s = c.createStatement()) {
      s.execute("SET statement_timeout = '90 s'");
    }
    return c;
  }

  public static void main(String[] arguments) throws Exception {
    try (Connection c = connect(); Connection other = connect()) {
      fill(c);
      show(c);
      printOrders(c, "ada", 2);
      System.out.println("2 reserved, " + reserve(c, 2) + " left");
      System.out.println(reserve(c, 4) < 0 ? "there are not 4" : "4 reserved");
      deliver(c, other);
      String token = UUID.randomUUID().toString();
      order(c, "ORDER#6", 1, token);
      order(c, "ORDER#6", 1, token); // as after an answer that did not arrive
      order(c, "ORDER#7", 100, UUID.randomUUID().toString());
      run(c, "SELECT dyn_delete('shop', ?::jsonb)", "{\"pk\":\"CUSTOMER#ada\",\"sk\":\"ORDER#1\"}");
      follow(c);
    }
  }
}
