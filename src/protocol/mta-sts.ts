import { createHash } from 'node:crypto';
import { parseDomainName, quoteValue } from './address/index.ts';

export type StsMode = 'enforce' | 'testing' | 'none';

/** The policy of a domain (RFC 8461 §3.2): which servers receive its mail, and that they offer TLS. */
export type StsPolicy = {
  mode: StsMode;
  /** Seconds for which the policy may be cached. */
  maxAgeSeconds: number;
  /** Host names in lower-case A-labels; one that starts with `*.` stands for any host one label below. */
  mx: string[];
};

/** The size that RFC 8461 §3.2 suggests as a limit. */
const POLICY_CHARS_MAX = 64 * 1024;
/** About one year (RFC 8461 §3.2). */
const MAX_AGE_MAX = 31_557_600;
/** Each pattern is compared with each MX host, so a policy may not have any number of them. */
const MX_MAX = 100;

/**
 * Finds the record of a domain among the TXT records at `_mta-sts.<domain>` (RFC 8461 §3.1). Returns undefined, which
 * means that the domain has no policy, unless exactly one record is of this version and is well-formed.
 */
export function readStsRecord(texts: readonly string[]): { id: string } | undefined {
  const [record, ...others] = texts.filter((text) => /^v=STSv1[ \t]*;/.test(text));
  if (record === undefined || others.length > 0) return undefined;
  const ids = record
    .split(';')
    .slice(1)
    .map((field) => /^[ \t]*id[ \t]*=(.*)$/s.exec(field)?.[1]?.trim())
    .filter((id) => id !== undefined);
  const [id = ''] = ids;
  return ids.length === 1 && /^[A-Za-z0-9]{1,32}$/.test(id) ? { id } : undefined;
}

/** Everything but the tab and the ends of lines. */
const CONTROL = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]/;

/**
 * Reads the file that a domain publishes at `/.well-known/mta-sts.txt`, or says which rule it breaks. Unknown keys are
 * ignored, and the first value of a repeated key counts, except for `mx` (RFC 8461 §3.2).
 */
export function readStsPolicy(text: string): StsPolicy | { fault: string } {
  if (text.length > POLICY_CHARS_MAX) {
    return { fault: `The policy has ${text.length} characters; at most ${POLICY_CHARS_MAX} are allowed.` };
  }
  if (CONTROL.test(text)) return { fault: 'The policy contains control characters.' };
  const fields = new Map<string, string>();
  const mx: string[] = [];
  for (const [index, line] of text.split(/\r?\n/).entries()) {
    if (line.trim() === '') continue;
    const [, key = '', value = ''] = /^([A-Za-z0-9][A-Za-z0-9_.-]{0,31}):(.*)$/s.exec(line) ?? [];
    if (key === '') return { fault: `Line ${index + 1} of the policy is not of the form "key: value".` };
    if (key === 'mx') mx.push(value.trim());
    else if (!fields.has(key)) fields.set(key, value.trim());
  }
  return readFields(fields, mx);
}

function readFields(fields: ReadonlyMap<string, string>, mx: readonly string[]): StsPolicy | { fault: string } {
  const version = fields.get('version');
  if (version === undefined) return { fault: 'The policy has no version; the only one is "version: STSv1".' };
  if (version !== 'STSv1') return { fault: `The version is ${quoteValue(version)}; the only one is "STSv1".` };
  const mode = fields.get('mode');
  if (mode === undefined) return { fault: 'The policy has no mode.' };
  if (!isMode(mode)) return { fault: `The mode is ${quoteValue(mode)}; it must be enforce, testing or none.` };
  const maxAge = fields.get('max_age');
  if (maxAge === undefined) return { fault: 'The policy has no max_age.' };
  if (!/^\d{1,10}$/.test(maxAge) || Number(maxAge) > MAX_AGE_MAX) {
    return { fault: `The max_age is ${quoteValue(maxAge)}; it must be a number of seconds from 0 to ${MAX_AGE_MAX}.` };
  }
  if (mx.length > MX_MAX) return { fault: `The policy has ${mx.length} lines with mx; at most ${MX_MAX} are allowed.` };
  if (mx.length === 0 && mode !== 'none') return { fault: `The policy has no mx, which the mode ${mode} requires.` };
  const patterns: string[] = [];
  for (const written of mx) {
    const pattern = readPattern(written);
    if (pattern === undefined) {
      return { fault: `The mx ${quoteValue(written)} is neither a host name nor "*." and a domain name.` };
    }
    patterns.push(pattern);
  }
  return { mode, maxAgeSeconds: Number(maxAge), mx: patterns };
}

const isMode = (text: string): text is StsMode => text === 'enforce' || text === 'testing' || text === 'none';

/** Reads a pattern into lower case. A U-label is refused, because the pattern must be written with A-labels. */
function readPattern(written: string): string | undefined {
  const name = written.replace(/\.$/, '');
  const wildcard = name.startsWith('*.') ? '*.' : '';
  const host = name.slice(wildcard.length);
  if (!/^[\w.-]+$/.test(host)) return undefined;
  const domain = parseDomainName(host, { allowSingleLabel: true });
  return domain.ok ? `${wildcard}${domain.domain}` : undefined;
}

/**
 * Reports whether a policy permits delivery to an MX host (RFC 8461 §4.1): by its name, or by `*.` in place of its
 * first label.
 */
export function matchesStsPattern(host: string, patterns: readonly string[]): boolean {
  const name = host.toLowerCase().replace(/\.$/, '');
  const dot = name.indexOf('.');
  const parent = dot > 0 ? `*${name.slice(dot)}` : undefined;
  return patterns.some((written) => {
    const pattern = written.toLowerCase().replace(/\.$/, '');
    return pattern === name || pattern === parent;
  });
}

/** Writes the file for `/.well-known/mta-sts.txt`. */
export function writeStsPolicy(policy: StsPolicy): string {
  const lines = [
    'version: STSv1',
    `mode: ${policy.mode}`,
    `max_age: ${policy.maxAgeSeconds}`,
    ...policy.mx.map((pattern) => `mx: ${pattern}`),
  ];
  return lines.map((line) => `${line}\r\n`).join('');
}

/** Derives the `id` of the TXT record from the file, so that it changes exactly when the file does. */
export function stsPolicyId(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 32);
}
