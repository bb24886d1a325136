// PartiQL through JDBC, whose placeholders are those of PartiQL: statement and parameters are strings.
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.nio.file.Files;
import java.nio.file.Paths;
import org.postgresql.util.PGobject;

class Statements {
  static int failures = 0;

  static void report(boolean ok, String what, String got) {
    System.out.println((ok ? "ok" : "not ok") + " - jdbc: " + what + (ok ? "" : ": " + got));
    if (!ok) failures++;
  }

  static String run(Connection connection, String statement, Object parameters) throws SQLException {
    try (PreparedStatement s = connection.prepareStatement("SELECT dyn_execute(?, ?)")) {
      StringBuilder items = new StringBuilder();
      s.setString(1, statement);
      if (parameters instanceof String) s.setString(2, (String) parameters);
      else s.setObject(2, parameters);
      try (ResultSet r = s.executeQuery()) {
        while (r.next()) items.append(r.getString(1));
      }
      return items.toString();
    }
  }

  public static void main(String[] arguments) throws Exception {
    PGobject plain = new PGobject();
    plain.setType("jsonb");
    plain.setValue("[\"a\"]");
    try (Connection connection = DriverManager.getConnection(System.getenv("JDBC_URL"))) {
      for (String line : Files.readAllLines(Paths.get(arguments[0]))) {
        String[] c = line.split("\t", -1);
        String got = run(connection, c[0], c[1]);
        report(got.equals(c[2]), c[0] + " " + c[1], got);
      }
      String got = run(connection, "SELECT * FROM orders WHERE id = ?", plain);
      report(got.isEmpty(), "PGobject of type jsonb", got);
    }
    System.exit(failures != 0 ? 1 : 0);
  }
}
