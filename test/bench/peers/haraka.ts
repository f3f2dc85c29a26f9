import { copyFileSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { freePort } from '../../rig/free-port.ts';
import { SENDER_DOMAIN } from '../messages.ts';
import { missingPrograms, runSource, startDaemon, untilAccepting, type PeerKind } from './peer.ts';
import { writeKey } from './postfix-peers.ts';

const HARAKA = '3.3.4';
const DKIM = '1.3.1';
const folder = fileURLToPath(new URL('../../../.cache/peers', import.meta.url));
const installed = path.join(folder, 'node_modules');
const INSTALL = `npm install --prefix .cache/peers --no-save --ignore-scripts Haraka@${HARAKA} haraka-plugin-dkim@${DKIM}`;

export const haraka: PeerKind = {
  name: 'Haraka with its DKIM plugin',
  missing() {
    if (readVersion('Haraka') !== HARAKA || readVersion('haraka-plugin-dkim') !== DKIM)
      return `not installed: ${INSTALL}`;
    return missingPrograms(['/usr/sbin/smtp-source', '/usr/sbin/smtp-sink']);
  },
  async start(bench, sinkPort) {
    const dir = bench.folder('haraka');
    const port = await freePort();
    for (const name of ['config', 'plugins', 'queue']) mkdirSync(path.join(dir, name));
    symlinkSync(installed, path.join(dir, 'node_modules'));
    const write = (name: string, text: string): void => writeFileSync(path.join(dir, name), text);
    // Without this file no connection is answered.
    copyFileSync(path.join(installed, 'Haraka/config/connection.ini'), path.join(dir, 'config/connection.ini'));
    write('config/smtp.ini', `listen=127.0.0.1:${port}\nnodes=0\n`);
    write('config/plugins', 'relay-to-sink\ndkim\n');
    write('config/me', 'relay.bench.test\n');
    write('config/databytes', '0\n');
    write('config/log.ini', '[main]\nlevel=warn\nformat=default\n');
    write('config/outbound.ini', 'enable_tls=false\nlocal_mx_ok=true\n');
    write(
      'config/dkim.ini',
      `[sign]\nenabled=true\nselector=bench\ndomain=${SENDER_DOMAIN}\n[verify]\nenabled=false\n[canon]\nbody=relaxed\n`,
    );
    writeKey(path.join(dir, 'config', 'dkim.private.key'));
    write('plugins/relay-to-sink.js', relayPlugin(sinkPort));
    const program = path.join(installed, 'Haraka', 'bin', 'haraka');
    const daemon = startDaemon(bench, dir, [process.execPath, program, '-c', dir]);
    await untilAccepting('Haraka', daemon, dir, port);
    return {
      name: this.name,
      roots: [daemon.pid ?? 0],
      load: (amount, letter) => runSource({ into: 'Haraka', port, amount, letter, to: 'reader@mail0.reader.test' }),
    };
  },
};

/** Returns a plugin that lets everybody relay, with all mail going to the sink. */
const relayPlugin = (sinkPort: number): string => `
exports.hook_connect = (next, connection) => { connection.relaying = true; next(); };
exports.hook_rcpt = (next) => next(OK);
exports.hook_get_mx = (next) => next(OK, { priority: 0, exchange: '127.0.0.1', port: ${sinkPort} });
`;

function readVersion(name: string): string | undefined {
  const file = path.join(installed, name, 'package.json');
  return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version : undefined;
}
