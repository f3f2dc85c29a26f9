import { X509Certificate } from 'node:crypto';
import { countEnforcing, listEnforcing, policyMx } from '../../../../mail/domains/index.ts';
import { fetchStsPolicy } from '../../../../mail/tls-policies/index.ts';
import { eachLimit } from '../../../../platform/limits/index.ts';
import { readOwnHosts } from '../../../../tenancy/instance/index.ts';
import { buildFinding, type Finding } from '../../../../platform/finding.ts';
import { listed, nothingSeen, skipped, type Check, type Examination } from '../check.ts';
import { caaIdentities } from '../../../../protocol/acme/index.ts';
import { permitsIssuer } from '../../../../protocol/dns-diagnosis/index.ts';
import { asksForCertificates, hostNames } from '../../certificates/certificates.ts';

const DAY_MS = 86_400_000;

/**
 * Checks the names of the certificate that our ports present, and how long it is valid. The process reports its expiry
 * and usability at all times.
 */
export const checkCertificates: Check = async ({ world, self }) => {
  const { clock, config } = world;
  const tls = self.tls();
  if (!tls) return skipped('No port of this process speaks TLS');
  const seen = nothingSeen();
  const { endsAt } = tls.readStatus();
  const shown = new X509Certificate(tls.current().cert);
  const names = [...(shown.subjectAltName ?? '').matchAll(/DNS:([^,\s"]+)/g)].map(([, name = '']) => name);
  if (self.isReceiving) seen.findings.push(...(await findUnmetPolicies(world, { shown, names, endsAt })));
  // A self-signed certificate is a finding of its own, and is replaced automatically.
  if (endsAt === undefined) {
    const says = 'The ports use a self-signed certificate';
    return seen.findings.length > 0 ? { ...seen, says: [says] } : skipped(says);
  }
  const { host } = config.instance;
  if (shown.checkHost(host) === undefined) {
    const summary = `The certificate is for ${listed(names) || 'no name'}, not for ${host}.`;
    seen.findings.push(buildFinding('certificate_wrong_name', { summary, subjects: [host] }));
  } else {
    const words = `The certificate is for ${listed(names)}`;
    if (endsAt <= clock.now()) return { ...seen, says: [`${words}, and has expired`], isFailed: true };
    seen.says.push(`${words}, for ${Math.floor((endsAt - clock.now()) / DAY_MS)} more days`);
  }
  return seen;
};

/** Finds out whether senders keep their mail, because our own domains ask them by MTA-STS to refuse this certificate. */
async function findUnmetPolicies(
  world: Examination['world'],
  { shown, names, endsAt }: { shown: X509Certificate; names: readonly string[]; endsAt: number | undefined },
): Promise<Finding[]> {
  const { clock, config, db } = world;
  const hosts = policyMx(config, await readOwnHosts(world, db));
  const mx = hosts.find((host) => shown.checkHost(host) === undefined) ?? hosts[0] ?? '';
  let fault: string;
  if (endsAt === undefined) fault = 'is self-signed';
  else if (endsAt <= clock.now()) fault = 'has expired';
  else if (shown.checkHost(mx) === undefined) fault = `is for ${listed(names) || 'no name'}, not for ${mx}`;
  else return [];
  const count = await countEnforcing(db);
  if (count === 0) return [];
  const domains = count === 1 ? 'a domain that enforces' : `${count} domains that enforce`;
  const summary = `The certificate ${fault}, so senders deliver no mail to ${domains} MTA-STS.`;
  return [buildFinding('mta_sts_unmet', { summary, subjects: [mx] })];
}

const POLICIES_MAX = 100;
const POLICIES_AT_A_TIME = 10;

/** Reads the policies of our own domains that enforce MTA-STS as senders do. */
export const checkPolicyHosts: Check = async ({ world, signal, isResolverSane }) => {
  const domains = await listEnforcing(world.db, POLICIES_MAX);
  if (domains.length === 0) return skipped('No domain that receives here enforces MTA-STS');
  const seen = nothingSeen();
  const wrong: { host: string; fault: string }[] = [];
  await eachLimit(domains, POLICIES_AT_A_TIME, async (domain) => {
    const fetched = await fetchStsPolicy(world, domain, signal);
    const host = `mta-sts.${domain}`;
    if ('policy' in fetched) {
      const { mode } = fetched.policy;
      if (mode !== 'enforce') wrong.push({ host, fault: `${host} serves a policy of the mode ${mode}` });
    } else if (fetched.isTimeout === true || !(await isResolverSane()))
      seen.unknown.push({ subject: host, says: `whether senders can read the policy: ${fetched.fault}` });
    else wrong.push({ host, fault: fetched.fault });
  });
  const [first] = wrong.toSorted((a, b) => (a.host < b.host ? -1 : 1));
  if (first) {
    const who = wrong.length === 1 ? 'a domain that enforces' : `${wrong.length} domains that enforce`;
    const summary = `Senders cannot read the policy of ${who} MTA-STS: ${first.fault.replace(/\.$/, '')}.`;
    seen.findings.push(
      buildFinding('mta_sts_unreadable', { summary, subjects: wrong.map(({ host }) => host).toSorted() }),
    );
  } else if (seen.unknown.length === 0) seen.says.push(`The policies of ${listed(domains)} can be read`);
  return seen;
};

const BODY_BYTES_MAX = 256 * 1024;

/** Checks that the configured authority may issue certificates for our names. */
export const checkCaa: Check = async (examination) => {
  const { config } = examination.world;
  if (!asksForCertificates(config)) return skipped('No certificates are requested from an authority');
  const seen = nothingSeen();
  const issuers = await fetchIssuers(examination, new URL(config.acme.directory));
  if (typeof issuers === 'string') {
    seen.unknown.push({ says: `which CAA records allow the authority to issue: ${issuers}` });
    return seen;
  }
  const wrong: { name: string; at: string }[] = [];
  for (const name of hostNames(config)) {
    const isWildcard = name.startsWith('*.');
    const nearest = await nearestSet(examination, isWildcard ? name.slice(2) : name);
    if (nearest === undefined) seen.says.push(`No CAA record restricts certificates for ${name}`);
    else if ('reason' in nearest)
      seen.unknown.push({ subject: name, says: `the CAA records of ${name}: ${nearest.reason}` });
    else if (issuers.some((issuer) => permitsIssuer(nearest.records, issuer, { isWildcard })))
      seen.says.push(`The CAA records at ${nearest.at} allow ${issuers.join(', ')} to issue for ${name}`);
    else wrong.push({ name, at: nearest.at });
  }
  const [first] = wrong;
  if (first) {
    const issuer = issuers[0] ?? '';
    const many = wrong.map(({ name }) => name);
    const summary = `The CAA records at ${first.at} do not allow ${issuer} to issue for ${many.join(', ')}.`;
    const advice = {
      words: `Add the CAA record: 0 ${first.name.startsWith('*.') ? 'issuewild' : 'issue'} "${issuer}" at ${first.at}, then run`,
      command: 'rasket tls renew',
    };
    seen.findings.push(buildFinding('caa_forbids', { summary, subjects: many, advice }));
  }
  return seen;
};

/** Returns the names of the authority in CAA records, which its directory lists (RFC 8555 §9.7.6). */
async function fetchIssuers({ world, signal }: Examination, url: URL): Promise<string[] | string> {
  let left = BODY_BYTES_MAX;
  const limits = { signal, mayTake: (bytes: number) => (left -= bytes) >= 0 };
  const answer = await world.authority.send({ method: 'GET', url, headers: { accept: 'application/json' } }, limits);
  if (answer.kind === 'failed') return `${url.host} does not answer (${answer.fault.kind})`;
  const names = answer.status === 200 ? caaIdentities(answer.body) : [];
  return names.length === 0 ? `${url.host} does not state its name for CAA records` : names;
}

/** Returns the record set of the nearest name upwards that has one (RFC 8659 §3). */
async function nearestSet({ ask }: Examination, name: string) {
  const labels = name.split('.');
  for (let at = 0; at < labels.length; at++) {
    const here = labels.slice(at).join('.');
    const answer = await ask(here, 'CAA');
    if (answer.kind === 'failed') return { reason: `${here}: ${answer.reason}` };
    if (answer.kind === 'found') return { at: here, records: answer.records };
  }
  return undefined;
}
