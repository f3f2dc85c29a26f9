import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { expect, vi } from 'vitest';
import { proxySnippets, type ProxiedHost } from '../../bin/setup/finish.ts';
import { makeCertificate } from '../rig/tls.ts';
import { freePort } from '../rig/free-port.ts';
import { findProgram } from './find-program.ts';

export interface WebServer {
  http: number;
  https: number;
  /** The certificate that a client has to trust. */
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

export async function startNginx(folder: string, behind: ProxiedHost): Promise<WebServer> {
  const program = findProgram('nginx') ?? '';
  const http = await freePort();
  const https = await freePort();
  const { cert, key } = makeCertificate({ names: [behind.host] });
  const at = (name: string): string => path.join(folder, name);
  const { www } = layOutWeb(folder, { cert, key });
  const lines = replaced(proxySnippets('nginx', behind), [
    ['listen 80;', `listen 127.0.0.1:${http};`],
    ['listen [::]:80;', ''],
    ['listen 443 ssl;', `listen 127.0.0.1:${https} ssl;`],
    ['listen [::]:443 ssl;', ''],
    [`/etc/letsencrypt/live/${behind.host}/fullchain.pem`, at('cert.pem')],
    [`/etc/letsencrypt/live/${behind.host}/privkey.pem`, at('key.pem')],
    ...(behind.asksAuthority ? [['/var/www/html', www] as [string, string]] : []),
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

export async function startCaddy(folder: string, behind: ProxiedHost): Promise<WebServer> {
  const program = findProgram('caddy') ?? '';
  const http = await freePort();
  const https = await freePort();
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

/** Finds Apache where Debian's package has its parts, or where `.ci/run` has put them. */
export const findApache = (): string | undefined =>
  ['', '/usr/local/lib/apache2'].find((root) =>
    ['/usr/sbin/apache2', '/usr/lib/apache2/modules/mod_proxy_http.so'].every((file) => existsSync(root + file)),
  );

/** The modules that Debian enables at installation, and those that the lines say to enable. */
const APACHE_MODULES = ['mpm_event', 'authz_core', 'alias', 'dir', 'reqtimeout', 'socache_shmcb'];

export async function startApache(folder: string, behind: ProxiedHost): Promise<WebServer> {
  const root = findApache() ?? '';
  const http = await freePort();
  const https = await freePort();
  const { cert, key } = makeCertificate({ names: [behind.host] });
  const at = (name: string): string => path.join(folder, name);
  const { www } = layOutWeb(folder, { cert, key });
  const printed = proxySnippets('Apache', behind);
  const enabled = /a2enmod ([a-z_ ]+);/.exec(printed)?.[1]?.split(' ') ?? [];
  const lines = replaced(printed, [
    ['<VirtualHost *:80>', `<VirtualHost 127.0.0.1:${http}>`],
    ['<VirtualHost *:443>', `<VirtualHost 127.0.0.1:${https}>`],
    [`/etc/letsencrypt/live/${behind.host}/fullchain.pem`, at('cert.pem')],
    [`/etc/letsencrypt/live/${behind.host}/privkey.pem`, at('key.pem')],
    ['/var/www/html', www],
  ]);
  const modules = [...APACHE_MODULES, ...enabled].map(
    (name) => `LoadModule ${name}_module ${root}/usr/lib/apache2/modules/mod_${name}.so`,
  );
  // Root's workers are of another account, which has to reach the folder.
  if (process.getuid?.() === 0) chmodSync(folder, 0o755);
  const user = process.getuid?.() === 0 ? 'User nobody\nGroup nogroup\n' : '';
  const listen = `Listen 127.0.0.1:${http}\nListen 127.0.0.1:${https}\n`;
  const log = at('error.log');
  const files = `DefaultRuntimeDir ${folder}\nPidFile ${at('pid')}\nErrorLog ${log}\nMutex posixsem\n`;
  const around = `ServerRoot ${folder}\nServerName ${behind.host}\n${files}Timeout 300\n<Directory />\nRequire all denied\n</Directory>\n<Directory ${www}>\nRequire all granted\n</Directory>\n`;
  writeFileSync(at('apache.conf'), `${modules.join('\n')}\n${user}${listen}${around}${lines}\n`);
  const libraries = `${root}/usr/lib`;
  const env = root === '' ? {} : { LD_LIBRARY_PATH: libraries };
  const args = ['-d', folder, '-f', at('apache.conf')];
  const program = `${root}/usr/sbin/apache2`;
  const tested = spawnSync(program, [...args, '-t'], { encoding: 'utf8', env: { ...process.env, ...env } });
  expect(tested.stderr.trim()).toBe('Syntax OK');
  return { http, https, ca: cert, stop: await launch(program, [...args, '-D', 'FOREGROUND'], env, https, log) };
}

/** Writes the web server's own files: a certificate, and a file that proves its name. */
function layOutWeb(folder: string, { cert, key }: { cert: string; key: string }): { www: string } {
  const at = (name: string): string => path.join(folder, name);
  mkdirSync(at('www/.well-known/acme-challenge'), { recursive: true });
  writeFileSync(at('www/.well-known/acme-challenge/its-own'), 'of the web server itself');
  for (const [name, content] of Object.entries({ 'cert.pem': cert, 'key.pem': key })) writeFileSync(at(name), content);
  return { www: at('www') };
}

async function launch(
  program: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv,
  port: number,
  log = '',
): Promise<() => Promise<void>> {
  const child = spawn(program, args, { env: { ...process.env, ...env }, stdio: ['ignore', 'ignore', 'pipe'] });
  let said = '';
  child.stderr.on('data', (chunk: Buffer) => (said = (said + chunk.toString()).slice(-4000)));
  await vi.waitFor(
    async () => {
      expect(child.exitCode, said + (existsSync(log) ? readFileSync(log, 'utf8') : '')).toBeNull();
      const socket = net.connect(port, '127.0.0.1');
      await once(socket, 'connect');
      socket.destroy();
    },
    { timeout: 60_000 },
  );
  return async () => {
    child.kill('SIGTERM');
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  };
}
