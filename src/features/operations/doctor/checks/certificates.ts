import { X509Certificate } from 'node:crypto';
import { findingOf } from '../../findings/index.ts';
import { listed, nothingSeen, skipped, type Check } from '../check.ts';

const DAY_MS = 86_400_000;

/** The names of what our ports show, and for how long. When it ends, and whether it can be used, the process says at any time. */
export const checkCertificates: Check = ({ world: { clock, config }, self }) => {
  const tls = self.tls();
  if (!tls) return Promise.resolve(skipped('No port of this process speaks TLS'));
  const seen = nothingSeen();
  const { endsAt } = tls.standing();
  // A self-signed one is a finding of its own, and replaced by itself.
  if (endsAt === undefined) return Promise.resolve(skipped('The ports show a self-signed certificate'));
  const shown = new X509Certificate(tls.current().cert);
  const names = [...(shown.subjectAltName ?? '').matchAll(/DNS:([^,\s"]+)/g)].map(([, name = '']) => name);
  const { host } = config.instance;
  if (shown.checkHost(host) === undefined) {
    const summary = `The certificate is for ${listed(names) || 'no name'}, and not for ${host}.`;
    seen.findings.push(findingOf('certificate_wrong_name', { summary, subjects: [host] }));
  } else {
    const days = Math.floor((endsAt - clock.now()) / DAY_MS);
    seen.says.push(
      `The certificate is for ${listed(names)}, ${days < 0 ? 'and has expired' : `for ${days} more days`}`,
    );
  }
  return Promise.resolve(seen);
};
