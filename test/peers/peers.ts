import { existsSync } from 'node:fs';
import { describe, it } from 'vitest';
import { findProgram } from './find-program.ts';
import { findLemonldap } from './lemonldap.ts';
import { hasSwift } from './swift.ts';
import { findMailDkim, findMailSpf } from './verifiers.ts';
import { findApache } from './web-servers.ts';

export { findProgram };

export type Peer =
  | 'clamd'
  | 'exim4'
  | 'postfix'
  | 'smtp-source'
  | 'saslpasswd2'
  | 'opendkim'
  | 'Mail::DKIM'
  | 'Mail::SPF'
  | 'rspamd'
  | 'spamd'
  | 'chromium'
  | 'named'
  | 'dbus-daemon'
  | 'gnome-keyring-daemon'
  | 'secret-tool'
  | 'nsupdate'
  | 'dig'
  | 'named-checkzone'
  | 'dnssec-signzone'
  | 'unbound'
  | 'lemonldap-ng'
  | 'pebble'
  | 'python3'
  | 'swaks'
  | 'swift'
  | 'promtool'
  | 'apache2'
  | 'nginx'
  | 'caddy'
  | 'qemu-aarch64-static'
  | 'arm64-libraries'
  | 'git'
  | 'ssh-keygen'
  | 'gpg'
  | 'dpkg-deb'
  | 'systemd-nspawn'
  | 'debian-root';

/** A small Debian with systemd and nothing of ours: `.ci/run` makes it. */
export const DEBIAN_ROOT = '/usr/local/lib/debian-root';

/** The C libraries of arm64, for programs that qemu runs: `.ci/run` takes them. */
export const ARM64_LIBRARIES = '/usr/local/lib/aarch64-linux-gnu';

/**
 * A chapter about other people's software. Where that is absent, one test stands in its place and is skipped with the
 * reason; with RASKET_TEST_PEERS=required it fails instead, so that the CI run cannot pass without having looked.
 */
export function describePeers(title: string, peers: Peer[], chapter: () => void): void {
  const reason = peers.map(whyAbsent).find((found) => found !== undefined);
  if (reason === undefined) return void describe(title, chapter);
  describe(title, () => {
    it(`${peers.join(', ')} can be used`, (ctx) => {
      if (process.env.RASKET_TEST_PEERS === 'required') throw new Error(`RASKET_TEST_PEERS=required, but ${reason}`);
      ctx.skip(reason);
    });
  });
}

function whyAbsent(peer: Peer): string | undefined {
  if (peer === 'Mail::DKIM') return findMailDkim() ? undefined : 'Mail::DKIM is not installed (libmail-dkim-perl)';
  if (peer === 'Mail::SPF') return findMailSpf() ? undefined : 'Mail::SPF is not installed (libmail-spf-perl)';
  if (peer === 'lemonldap-ng')
    return findLemonldap() === undefined ? 'lemonldap-ng is not installed (.ci/run says how)' : undefined;
  if (peer === 'apache2')
    return findApache() === undefined ? 'apache2 is not installed (apache2-bin; .ci/run says how)' : undefined;
  if (peer === 'debian-root')
    return existsSync(`${DEBIAN_ROOT}/usr/lib/systemd/systemd`)
      ? undefined
      : `there is no ${DEBIAN_ROOT} (.ci/run makes it)`;
  if (peer === 'arm64-libraries')
    return existsSync(ARM64_LIBRARIES) ? undefined : `there is no ${ARM64_LIBRARIES} (.ci/run takes it)`;
  if (peer === 'swift') return hasSwift() ? undefined : 'OpenStack Swift is not installed (python3-swift)';
  if (peer === 'named' && process.env.FAKETIME !== undefined) return 'named does not start under libfaketime';
  const program = peer === 'postfix' ? 'postconf' : peer;
  if (!findProgram(program)) return `${peer} is not installed`;
  if ((peer === 'postfix' || peer === 'exim4') && process.getuid?.() !== 0)
    return `${peer} can be started by root only`;
  return undefined;
}
