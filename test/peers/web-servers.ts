import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { expect, vi } from 'vitest';
import { proxySnippets, type Behind } from '../../bin/setup/proxies.ts';
import { makeCertificate } from '../rig/tls.ts';
import { freePort } from '../rig/free-port.ts';
import { findProgram } from './peers.ts';

export interface WebServer {
  http: number;
  https: number;
  /** What a client has to trust. */
  ca: string;
  stop(): Promise<void>;
}

/** The lines of `rasket setup`, with the ports, certificate and folder of a test in the place of the machine's. */
function replaced(text: string, changes: readonly [what: string, by: string][]): string {
  return changes.reduce((now, [what, by]) => {
    expect(now, `the lines have ${what}`).toContain(what);
    return now.replaceAll(what, by);
  }, text);
}

export async function startNginx(folder: string, behind: Behind): Promise<WebServer> {
  const program = findProgram('nginx') ?? '';
  const [http, https] = [await freePort(), await freePort()];
  const { cert, key } = makeCertificate({ names: [behind.host] });
  const at = (name: string): string => path.join(folder, name);
  mkdirSync(at('www/.well-known/acme-challenge'), { recursive: true });
  writeFileSync(at('www/.well-known/acme-challenge/its-own'), 'of the web server itself');
  for (const [name, content] of Object.entries({ 'cert.pem': cert, 'key.pem': key })) writeFileSync(at(name), content);
  const lines = replaced(proxySnippets('nginx', behind), [
    ['listen 80;', `listen 127.0.0.1:${http};`],
    ['listen [::]:80;', ''],
    ['listen 443 ssl;', `listen 127.0.0.1:${https} ssl;`],
    ['listen [::]:443 ssl;', ''],
    [`/etc/letsencrypt/live/${behind.host}/fullchain.pem`, at('cert.pem')],
    [`/etc/letsencrypt/live/${behind.host}/privkey.pem`, at('key.pem')],
    ...(behind.asksAuthority ? [['/var/www/html', at('www')] as [string, string]] : []),
  ]);
  const kinds = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((kind) => `${kind}_temp_path ${at(kind)};`);
  const user = process.getuid?.() === 0 ? 'user root;' : '';
  writeFileSync(
    at('nginx.conf'),
    `${user}\ndaemon off;\npid ${at('pid')};\nerror_log stderr;\nevents {}\nhttp {\naccess_log off;\n${kinds.join('\n')}\n${lines}\n}\n`,
  );
  const args = ['-p', folder, '-c', at('nginx.conf'), '-e', 'stderr'];
  const tested = spawnSync(program, [...args, '-t'], { encoding: 'utf8' });
  expect(tested.stderr).toContain('test is successful');
  expect(tested.stderr).not.toMatch(/\[(warn|emerg|error)\]/);
  return { http, https, ca: cert, stop: await launch(program, args, {}, https) };
}

export async function startCaddy(folder: string, behind: Behind): Promise<WebServer> {
  const program = findProgram('caddy') ?? '';
  const [http, https] = [await freePort(), await freePort()];
  // Its own authority stands for the public one: what else the lines say stays as it is.
  const options = `{\n  admin off\n  http_port ${http}\n  https_port ${https}\n  default_bind 127.0.0.1\n  local_certs\n  skip_install_trust\n}\n`;
  const file = path.join(folder, 'Caddyfile');
  writeFileSync(file, `${options}${proxySnippets('Caddy', behind)}\n`);
  const env = { HOME: folder, XDG_DATA_HOME: path.join(folder, 'data'), XDG_CONFIG_HOME: folder };
  const args = ['--config', file, '--adapter', 'caddyfile'];
  const around = { ...process.env, ...env };
  const tested = spawnSync(program, ['validate', ...args], { encoding: 'utf8', env: around });
  expect(tested.status, tested.stderr).toBe(0);
  expect(tested.stdout + tested.stderr).toContain('Valid configuration');
  const stop = await launch(program, ['run', ...args], env, https);
  const root = path.join(env.XDG_DATA_HOME, 'caddy/pki/authorities/local/root.crt');
  const ca = await vi.waitFor(() => readFileSync(root, 'utf8'), { timeout: 60_000 });
  return { http, https, ca, stop };
}

async function launch(
  program: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv,
  port: number,
): Promise<() => Promise<void>> {
  const child = spawn(program, args, { env: { ...process.env, ...env }, stdio: ['ignore', 'ignore', 'pipe'] });
  let said = '';
  child.stderr.on('data', (chunk: Buffer) => (said = (said + chunk.toString()).slice(-4000)));
  await vi.waitFor(async () => {
    expect(child.exitCode, said).toBeNull();
    const socket = net.connect(port, '127.0.0.1');
    await once(socket, 'connect');
    socket.destroy();
  });
  return async () => {
    child.kill('SIGTERM');
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  };
}
