#!/usr/bin/env python3
"""Statements over ADBC at a running service have the rows that DuckDB finds in the records.

usage: crates/sql/tests/over_adbc.py [PROGRAM] [SIGNALS]

PROGRAM (target/debug/signaldex, with the features `serve` and `sql`) generates SIGNALS (20,000) signals and serves an index
of them with `--sql-addr`. The statements of against_duckdb.py are asked over PyPI's adbc_driver_flightsql, before and after
three updates that the service follows. Then what operators meet: the catalog, parameters, cancelling, TLS, a wrong token, an
API key, a statement that writes, too many statements. Installs what it needs into target/duckdb, unless it is there. Prints
what differs, and ends with 1 if anything does.
"""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import against_duckdb as duckdb_side  # noqa: E402
import environment  # noqa: E402

ROOT = duckdb_side.ROOT
TOOLS = [*environment.DUCKDB, "adbc-driver-flightsql>=1", "adbc-driver-manager>=1", "pyarrow"]
LONG = "SELECT a.id, b.title FROM signals a, signals b"


class Service:
    """A running service, its address for SQL and its admin token."""

    def __init__(self, program, served, state, *options):
        served = served if isinstance(served, list) else [served]
        command = [program, "serve", *served, "--state", state, "--addr", "127.0.0.1:0", "--admin-addr", "127.0.0.1:0",
                   "--sql-addr", "127.0.0.1:0", "--as-of", duckdb_side.AS_OF, *options]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.log = []
        for line in self.process.stderr:
            self.log.append(line)
            if "listening on" in line:
                break
        found = re.search(r"SQL on (grpc[a-z+]*://[^\s\"]+)", "".join(self.log))
        if not found:
            sys.exit("".join(self.log))
        self.uri = found[1]
        threading.Thread(target=lambda: self.log.extend(self.process.stderr), daemon=True).start()
        self.token = None
        for line in self.process.stdout:
            if line.startswith("sdxadmin_"):
                self.token = line.strip()
                break
            if "Admin token:" in line:
                break

    def connect(self, token=None, **options):
        settings = {"adbc.flight.sql.authorization_header": f"Bearer {token or self.token}", **options}
        return flight.connect(self.uri, db_kwargs=settings, autocommit=True)

    def lines(self, words):
        """The lines of its log with these words."""
        return [line for line in list(self.log) if words in line]

    def stop(self):
        self.process.terminate()
        self.process.wait(30)


def ask(connection, statement, parameters=None):
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        return [tuple(map(duckdb_side.plain, row)) for row in cursor.fetchall()]


def compare(connection, oracle):
    """How many statements differ."""
    wrong = 0
    for statement in duckdb_side.STATEMENTS:
        try:
            rows = ask(connection, statement)
        except Exception as error:  # noqa: BLE001  Any is a difference.
            print(f"{statement}: {error}")
            wrong += 1
            continue
        expected = oracle.sql(duckdb_side.theirs(statement)).fetchall()
        expected = [tuple(map(duckdb_side.plain, row)) for row in expected]
        told = duckdb_side.told(statement, rows, expected)
        if told:
            print(f"{statement}: {told}")
            wrong += 1
    return wrong


def expect(condition, what):
    if not condition:
        sys.exit(f"expected: {what}")


def refused(ask_it, *words):
    """Checks that something is refused with words."""
    try:
        ask_it()
    except Exception as error:  # noqa: BLE001  Its class is the driver's.
        text = str(error)
        missing = [word for word in words if word not in text]
        expect(not missing, f"{missing} in {text}")
        return
    sys.exit(f"expected a refusal with {words}")


def check_doors(service, api_key):
    """Who is let in."""
    refused(lambda: ask(service.connect("sdxadmin_wrong"), "SELECT 1"), "admin token")
    refused(lambda: ask(service.connect(api_key), "SELECT 1"), "API key")
    by_password = flight.connect(service.uri, db_kwargs={"username": "ada", "password": service.token}, autocommit=True)
    with by_password as connection:
        expect(ask(connection, "SELECT 1 AS one") == [(1,)], "an answer to a password")
    refused(lambda: flight.connect(service.uri, db_kwargs={"username": "ada", "password": "x"}), "admin token")


def check_statements(service):
    with service.connect() as connection:
        refused(lambda: ask(connection, "DELETE FROM signals"), "DELETE is refused")
        refused(lambda: ask(connection, "SELECT contry FROM signals"), "did you mean country?")
        found = ask(connection, "SELECT count(*) AS n FROM signals WHERE query = $1 AND category = $2", ["q=raises", "funding"])
        plain = ask(connection, "SELECT count(*) AS n FROM signals WHERE query = 'q=raises' AND category = 'funding'")
        expect(found == plain and found[0][0] > 0, f"{plain} with parameters, not {found}")
        objects = connection.adbc_get_objects(depth="all").read_all().to_pylist()
        schemas = objects[0]["catalog_db_schemas"][0]
        tables = {table["table_name"]: len(table["table_columns"]) for table in schemas["db_schema_tables"]}
        expect(tables == {"companies": 15, "signals": 26}, f"both tables, not {tables}")
        expect(connection.adbc_get_table_types() == ["TABLE"], "one table type")
        expect(len(connection.adbc_get_table_schema("signals")) == 26, "26 columns")
        expect(connection.adbc_get_info()["vendor_name"] == "signaldex", "the name")


def check_slots(service):
    """The fifth statement, and one that is cancelled."""
    readers = []
    for _ in range(4):
        cursor = service.connect().cursor()
        cursor.execute(LONG)
        cursor.fetchone()
        readers.append(cursor)
    with service.connect() as connection:
        refused(lambda: ask(connection, "SELECT 1"), "--sql-queries")
        for cursor in readers:
            cursor.adbc_cancel()
            cursor.close()
        for _ in range(200):
            try:
                expect(ask(connection, "SELECT 1 AS one") == [(1,)], "an answer after cancelling")
                return
            except Exception as error:  # noqa: BLE001  Slots are freed when statements notice.
                expect("--sql-queries" in str(error), str(error))
                time.sleep(0.05)
    sys.exit("expected: slots of cancelled statements are freed")


def check_tls(program, index, state, folder, token):
    if not shutil.which("openssl"):
        print("not run: TLS needs openssl")
        return
    certificate, key = folder / "cert.pem", folder / "key.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                    "-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1",
                    "-keyout", key, "-out", certificate], check=True, capture_output=True)
    service = Service(program, index, state, "--sql-cert", certificate, "--sql-key", key)
    service.token = token
    try:
        expect(service.uri.startswith("grpc+tls://"), service.uri)
        roots = {"adbc.flight.sql.client_option.tls_root_certs": certificate.read_text()}
        with service.connect(**roots) as connection:
            expect(ask(connection, "SELECT 1 AS one") == [(1,)], "an answer over TLS")
        refused(lambda: ask(service.connect(), "SELECT 1"))
    finally:
        service.stop()


def main():
    program = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "target" / "debug" / "signaldex").resolve()
    signals = sys.argv[2] if len(sys.argv) > 2 else "20000"

    def signaldex(*arguments):
        return subprocess.run([program, *arguments], check=True, capture_output=True, text=True).stdout

    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        corpus, index, state = folder / "corpus", folder / "index", folder / "state.db"
        signaldex("generate", "--signals", signals, "--seed", "7", "--out", corpus)
        signaldex("build", "--companies", corpus / "companies.jsonl", "--signals", corpus / "signals.jsonl", "--out", index)
        service = Service(program, index, state)
        total = 0
        try:
            for name, records in [("before", corpus), ("after", folder / "after")]:
                if name == "after":
                    for update in duckdb_side.change(corpus, folder):
                        signaldex("update", index, *update)
                oracle = duckdb_side.oracle(records)
                with service.connect() as connection:
                    # The service follows the directory.
                    wanted = oracle.sql("SELECT count(*), max(updated_at) FROM signals").fetchall()
                    wanted = [tuple(map(duckdb_side.plain, row)) for row in wanted]
                    until = time.monotonic() + 30
                    while ask(connection, "SELECT count(*) AS n, max(updated_at) AS at FROM signals") != wanted:
                        expect(time.monotonic() < until, "the service follows the index")
                        time.sleep(0.1)
                    wrong = compare(connection, oracle)
                print(f"{name} the updates: {len(duckdb_side.STATEMENTS)} statements, {wrong} differ from DuckDB")
                total += wrong
            key = re.search(r'"key":\s*"([^"]+)"', signaldex("keys", "create", "--name", "mine", "--state", state))[1]
            check_doors(service, key)
            check_statements(service)
            check_slots(service)
            logged = service.lines("SQL statement")
            expect(any('"user":"ada"' in line and '"rows":1' in line for line in logged), "who and rows in the log")
        finally:
            service.stop()
        usage = signaldex("usage", "--state", state)
        expect(not re.search(r'"(searches|signals|companies|exports)":\s*[1-9]', usage), f"nothing metered: {usage}")
        check_tls(program, index, state, folder, service.token)
    sys.exit(1 if total else 0)


def with_packages():
    """Runs this script again with the packages that it needs, unless they are there."""
    global flight
    try:
        import adbc_driver_flightsql.dbapi as flight
        import duckdb
        import pyarrow  # noqa: F401  Of the driver.
        import pytz  # noqa: F401  DuckDB needs it for points in time.
    except ImportError:
        environment.with_packages("duckdb", TOOLS)
    duckdb_side.duckdb = duckdb


if __name__ == "__main__":
    with_packages()
    main()
