import { generateKeyPairSync } from 'node:crypto';
import { chmodSync, chownSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { execFileSync } from 'node:child_process';
import path from 'node:path';
import { freePort } from '../../rig/free-port.ts';
import type { Bench } from '../bench.ts';
import { SENDER_DOMAIN } from '../messages.ts';
import { startPostfix } from '../postfix.ts';
import { missingPrograms, runSource, startDaemon, untilAccepting, type PeerKind } from './peer.ts';

const POSTFIX = ['/usr/sbin/postfix', '/usr/sbin/smtp-source', '/usr/sbin/smtp-sink'];
const SELECTOR = 'bench';

/** A key as everybody else's here: RSA-2048. */
export function writeKey(file: string): void {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  writeFileSync(file, privateKey.export({ type: 'pkcs8', format: 'pem' }), { mode: 0o600 });
}

/** Signs by a milter; a message that it cannot sign is put off, so that none gets through unsigned. */
const signedBy = (port: number): string => `smtpd_milters = inet:127.0.0.1:${port}
milter_default_action = tempfail
message_size_limit = 0
`;

export const postfixWithOpendkim: PeerKind = {
  name: 'Postfix with OpenDKIM',
  missing: () => missingPrograms([...POSTFIX, '/usr/sbin/opendkim']),
  async start(bench, sinkPort) {
    const dir = bench.folder('opendkim');
    const milter = await freePort();
    writeKey(path.join(dir, 'key.pem'));
    writeFileSync(
      path.join(dir, 'opendkim.conf'),
      `Mode s
Domain ${SENDER_DOMAIN}
Selector ${SELECTOR}
KeyFile ${dir}/key.pem
RequireSafeKeys no
Socket inet:${milter}@127.0.0.1
Canonicalization relaxed/relaxed
SignatureAlgorithm rsa-sha256
InternalHosts 127.0.0.1
Background no
Syslog no
UserID root
`,
    );
    const daemon = startDaemon(bench, dir, ['/usr/sbin/opendkim', '-f', '-x', path.join(dir, 'opendkim.conf')]);
    await untilAccepting('OpenDKIM', daemon, dir, milter);
    return relaying(bench, 'Postfix with OpenDKIM', sinkPort, milter, daemon.pid ?? 0);
  },
};

export const postfixWithRspamd: PeerKind = {
  name: 'Postfix with rspamd',
  missing: () => missingPrograms([...POSTFIX, '/usr/bin/rspamd']),
  async start(bench, sinkPort) {
    const dir = bench.folder('rspamd');
    const milter = await freePort();
    writeKey(path.join(dir, 'key.pem'));
    const owner = Number(execFileSync('id', ['-u', '_rspamd']).toString());
    for (const name of ['', 'key.pem']) chownSync(path.join(dir, name), owner, -1);
    chmodSync(path.dirname(dir), 0o755);
    writeFileSync(path.join(dir, 'rspamd.conf'), rspamdConf(dir, milter, bench.dns.server));
    const settings = ['-f', '-u', '_rspamd', '-g', '_rspamd', '-c', path.join(dir, 'rspamd.conf')];
    const daemon = startDaemon(bench, dir, ['/usr/bin/rspamd', ...settings]);
    await untilAccepting('rspamd', daemon, dir, milter);
    return relaying(bench, 'Postfix with rspamd', sinkPort, milter, daemon.pid ?? 0);
  },
};

/** Enables only the signing of rspamd, on both cores: other scans would cost it more. */
const rspamdConf = (dir: string, port: number, dnsServer: string): string => `options {
  pidfile = "${dir}/rspamd.pid";
  filters = "dkim";
  temp_dir = "${dir}";
  control_socket = "${dir}/rspamd.sock mode=0600";
  explicit_modules = ["dkim_signing"];
  dns { nameserver = ["${dnsServer}"]; }
}
logging { type = "file"; filename = "${dir}/rspamd.log"; level = "warning"; }
lua = "/usr/share/rspamd/rules/rspamd.lua";
modules { path = "/usr/share/rspamd/plugins/dkim_signing.lua"; }
dkim_signing {
  path = "${dir}/key.pem";
  selector = "${SELECTOR}";
  sign_local = true;
  use_domain = "header";
  use_esld = false;
  check_pubkey = false;
}
worker "rspamd_proxy" {
  bind_socket = "127.0.0.1:${port}";
  count = 2;
  milter = true;
  timeout = 120s;
  max_message = 100Mb;
  upstream "local" { default = true; self_scan = true; }
}
`;

async function relaying(bench: Bench, name: string, sinkPort: number, milter: number, milterPid: number) {
  const { port, pid } = await startPostfix(bench, { relayTo: sinkPort, settings: signedBy(milter) });
  return {
    name,
    roots: [pid, milterPid],
    load: (amount: number, letter: Parameters<typeof runSource>[0]['letter']) =>
      runSource({ into: name, port, amount, letter, to: 'reader@mail0.reader.test' }),
  };
}

export interface Keeping {
  port: number;
  pid: number;
  /** Messages in the mailbox. */
  kept(): number;
  empty(): void;
}

export const missingForReceiving = (): string | undefined => missingPrograms(POSTFIX);

/** Postfix that delivers everything into one maildir. */
export async function startPostfixKeeping(bench: Bench, domain: string): Promise<Keeping> {
  const dir = bench.folder('maildir');
  const owner = Number(execFileSync('id', ['-u', 'nobody']).toString());
  mkdirSync(path.join(dir, 'mail'), { mode: 0o700 });
  chownSync(path.join(dir, 'mail'), owner, -1);
  for (const folder of [path.dirname(dir), dir]) chmodSync(folder, 0o755);
  writeFileSync(path.join(dir, 'mailboxes'), '/@/ all/\n');
  const settings = `virtual_mailbox_domains = ${domain}
virtual_mailbox_base = ${dir}/mail
virtual_mailbox_maps = regexp:${dir}/mailboxes
virtual_minimum_uid = 1
virtual_uid_maps = static:${owner}
virtual_gid_maps = static:${owner}
virtual_mailbox_limit = 0
message_size_limit = 0
`;
  const { port, pid } = await startPostfix(bench, { settings });
  const box = path.join(dir, 'mail', 'all', 'new');
  const files = (): string[] => {
    try {
      return readdirSync(box);
    } catch {
      return [];
    }
  };
  return {
    port,
    pid,
    kept: () => files().length,
    empty: () => files().forEach((file) => rmSync(path.join(box, file))),
  };
}
