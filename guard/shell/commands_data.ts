/**
 * Databases: their clients, servers and tools. Data only.
 *
 * @module
 */
import { each, HERE, READS, type VerbTable, verbTable } from "./verb_spec.ts";

/** The rows by program. */
export const dataCommands: VerbTable = verbTable(() => ({
  psql: {
    takes:
      "-c -d -f -F -h -p -P -R -T -U -v --command --dbname --file --host --port --username --set --variable --pset",
    writes: "-o -L --output --log-file",
  },
  mysql: {
    takes: "-u -h -P -D -e --user --host --port --database --execute",
    writes: "--tee",
  },
  "redis-cli": {
    takes: "-h -p -a -n -u -r -i -x",
    writes: "--rdb --functions-rdb",
  },
  pg_dump: { takes: "-h -p -U -d -n -t -F -T -Z", writes: "-f --file" },
  pg_dumpall: { takes: "-h -p -U", writes: "-f --file" },
  pg_basebackup: { takes: "-h -p -U", writes: "-D --pgdata" },
  initdb: { operands: "all", takes: "-U -E -A", writes: "-D --pgdata" },
  pg_restore: {
    takes: "-h -p -U -d -n -t -F -j -L -I -P -S -T",
    writes: "-f --file",
  },
  ...each(
    "pg_ctl pg_rewind pg_upgrade pg_receivewal pg_recvlogical pg_checksums postgres",
    {
      takes:
        "-h -p -U -b -B -d -o -O -j -t -m -S --source-server --source-pgdata",
      writes: "-D --pgdata --target-pgdata -l --log -f --file --directory",
      unless: "status --version --help -V",
    },
  ),
  ...each("pg_resetwal pg_createcluster pg_dropcluster", {
    operands: "all",
    writes: "-D --pgdata -d",
    unless: "-n --dry-run",
  }),
  pgbench: {
    takes: "-h -p -U -c -j -t -T -f -s -M -D",
    writes: "--log-prefix",
  },
  ...each("mysqldump mariadb-dump mysqlpump", {
    takes: "-h -P -u",
    writes: "-r --result-file -T --tab --log-error",
  }),
  ...each(
    "mysqld mariadbd mysql_install_db mariadb-install-db xtrabackup mariabackup",
    {
      exact: true,
      takes: "--user --basedir --defaults-file --backup-dir",
      writes: "--datadir --target-dir --log-error --pid-file --socket --tmpdir",
    },
  ),
  ...each("mongodump mongoexport", {
    takes: "-h -d -c -u -q -f --host --db --collection --uri --query --fields",
    writes: "-o --out --archive",
  }),
  ...each("mongod mongos", {
    takes: "-f --config --port --bind_ip --replSet",
    writes: "--dbpath --logpath --pidfilepath --unixSocketPrefix",
  }),
  mongofiles: { writes: "-l --local", takes: "-d -h -u" },
  "redis-server": {
    takes: "--port --bind --save --requirepass",
    writes: "--dir --logfile --pidfile --appenddirname",
  },
  influx: { subs: { backup: { operands: "final", takes: "-t --host -b" } } },
  influxd: {
    writes: "--bolt-path --engine-path --sqlite-path",
    subs: { backup: { operands: "final", takes: "-db -start -end -host" } },
  },
  "neo4j-admin": { writes: "--to --to-path --to-stdout-file" },
  etcd: { writes: "--data-dir --wal-dir", takes: "--name" },
  ...each("etcdctl etcdutl", {
    takes: "--endpoints --cacert --cert --key --user",
    subs: {
      snapshot: {
        subs: {
          save: { operands: "first" },
          restore: { writes: "--data-dir --wal-dir", takes: "--name" },
          status: READS,
        },
      },
      "make-mirror": READS,
      migrate: { writes: "--data-dir" },
      defrag: { writes: "--data-dir" },
      backup: { writes: "--backup-dir" },
    },
  }),
  consul: {
    subs: {
      snapshot: { subs: { save: { operands: "final" } } },
      agent: {
        writes: "-data-dir -log-file -pid-file",
        takes: "-config-dir -config-file",
        singleDash: true,
      },
      kv: READS,
      tls: HERE,
    },
  },
  vault: {
    subs: {
      operator: {
        subs: {
          raft: {
            subs: { snapshot: { subs: { save: { operands: "final" } } } },
          },
        },
      },
      server: { takes: "-config", writes: "-log-file", singleDash: true },
      debug: { writes: "-output", singleDash: true },
    },
  },
  cockroach: {
    subs: {
      ...each("start start-single-node demo", {
        takes: "--listen-addr --http-addr --join",
        writes: "-s --store --log-dir --pid-file --external-io-dir",
      }),
      userfile: { subs: { get: { operands: "second" } } },
      debug: { subs: { zip: { operands: "first" } } },
      cert: { writes: "--certs-dir --ca-key" },
    },
  },
  "sqlite-utils": {
    subs: each(
      "insert upsert create-database create-table create-view create-index add-column add-foreign-key " +
        "enable-fts disable-fts populate-fts drop-table drop-view transform extract optimize vacuum convert insert-files bulk enable-wal " +
        "rename-table duplicate memory-save install",
      { operands: "first", takes: "--pk --alter --csv --delimiter" },
    ),
  },
  "db-to-sqlite": { operands: "second" },
  "csvs-to-sqlite": { operands: "final" },
  bcp: { takes: "-S -U -P -d -f -F -t -r", writes: "-e -o" },
  ...each("sqlcmd isql", { takes: "-S -U -P -d -i -Q -q", writes: "-o" }),
  ...each("exp expdp", { sets: "file log FILE LOG logfile LOGFILE" }),
  dbmate: {
    takes: "-u --url -e --env",
    writes: "-d --migrations-dir -s --schema-file",
  },
  ...each("flyway liquibase", {
    singleDash: true,
    writes:
      "-outputFile --outputFile --output-file --changelog-file --changeLogFile --log-file --report-filename",
    takes: "--url --username",
  }),
  alembic: {
    takes: "-c --config -n -x",
    subs: { init: { operands: "first", takes: "-t --template" } },
  },
  knex: {
    writes: "--migrations-directory --knexfile --esm-file",
    takes: "--env",
  },
  litestream: {
    subs: {
      restore: { writes: "-o", takes: "-config -timestamp", singleDash: true },
    },
  },
  // Tables and documents as text
  ...each("xsv qsv", {
    subs: {
      split: { operands: "first", takes: "-s -j -d" },
      partition: { operands: "second", takes: "-d" },
      index: { operands: "first" },
      ...each("sort select search join cat table slice fmt dedup sample", {
        takes: "-s -d -l -i",
        writes: "-o --output",
      }),
    },
  }),
  dasel: {
    subs: {
      put: {
        takes: "-s -v -t -r -w",
        writes: "-f --file -o --out",
        exact: true,
      },
      delete: { takes: "-s -r -w", writes: "-f --file -o --out" },
    },
  },
  ...each("saxon xslt3", {
    takes: "-s -xsl -it -cat -config",
    writes: "-o",
    singleDash: true,
  }),
  augtool: { takes: "-r -I -f" },
}));
