import { spawn } from 'node:child_process';
import fs from 'node:fs';
import { connect } from 'node:net';
import path from 'node:path';
import { freePort } from './free-port.ts';
import { makeFolder, unprivilegedUser } from './pg.ts';

/** Starts a PgBouncer in transaction mode before one PostgreSQL server. */
export async function startPgBouncer(
  program: string,
  server: string,
): Promise<{ port: number; stop(): Promise<void> }> {
  const { hostname, port: serverPort, username, password } = new URL(server);
  const user = unprivilegedUser();
  const folder = makeFolder(user);
  const port = await freePort();
  const users = path.join(folder, 'users.txt');
  const settings = path.join(folder, 'pgbouncer.ini');
  fs.writeFileSync(users, `"${username}" "${password}"\n`);
  fs.writeFileSync(
    settings,
    `[databases]
* = host=${hostname} port=${serverPort}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = plain
auth_file = ${users}
pool_mode = transaction
max_prepared_statements = 300
server_login_retry = 1
query_wait_timeout = 3
`,
  );
  for (const file of [users, settings]) fs.chmodSync(file, 0o644);
  const child = spawn(program, [settings], { ...user, cwd: folder, stdio: 'ignore' });
  const exited = new Promise<void>((done) => child.once('exit', () => done()));
  const failed = exited.then(() => {
    throw new Error('PgBouncer ended while starting');
  });
  failed.catch(() => undefined);
  while (!(await Promise.race([isOpen(port), failed])));
  return {
    port,
    async stop() {
      child.kill('SIGKILL');
      await exited;
      fs.rmSync(folder, { recursive: true, force: true });
    },
  };
}

const isOpen = (port: number): Promise<boolean> =>
  new Promise((done) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('connect', () => done(true)).once('error', () => done(false));
    socket.once('connect', () => socket.destroy());
  });
