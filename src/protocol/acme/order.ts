import { AcmeFault } from './fault.ts';
import { fieldsIn, problemFault, readFields, readUrl, type Fields, type RawAnswer } from './read-answer.ts';

/** What is to be done next with an order (RFC 8555 §7.1.6). */
export type OrderStep =
  | { kind: 'prove'; authorizations: string[] }
  | { kind: 'finalize'; url: string }
  | { kind: 'wait' }
  | { kind: 'download'; url: string }
  /** It leads nowhere any more. */
  | { kind: 'over'; fault: AcmeFault };

const AUTHORIZATIONS_MAX = 100;

export function readOrder(answer: RawAnswer, names: readonly string[]): OrderStep {
  const fields = readFields('the order', answer);
  const { status } = fields;
  if (status === 'invalid') return { kind: 'over', fault: problemFault('the order failed: ', fieldsIn(fields.error)) };
  const ordered = identifiersOf(fields);
  if (ordered !== names.toSorted().join(' '))
    return { kind: 'over', fault: new AcmeFault(`the order is for ${ordered || 'nothing'}, not for what was asked`) };
  switch (status) {
    case 'pending':
      return { kind: 'prove', authorizations: authorizationsOf(fields) };
    case 'ready':
      return { kind: 'finalize', url: readUrl('finalize of the order', fields.finalize) };
    case 'processing':
      return { kind: 'wait' };
    case 'valid':
      return { kind: 'download', url: readUrl('certificate of the order', fields.certificate) };
    default:
      throw new AcmeFault(`the order has the status ${JSON.stringify(status ?? null)}, which RFC 8555 does not know`);
  }
}

function identifiersOf({ identifiers }: Fields): string {
  const all = Array.isArray(identifiers) ? (identifiers as unknown[]).map(fieldsIn) : [];
  return all
    .map(({ type, value }) => (type === 'dns' && typeof value === 'string' ? value.toLowerCase() : '?'))
    .toSorted()
    .join(' ');
}

function authorizationsOf({ authorizations }: Fields): string[] {
  const all = Array.isArray(authorizations) ? (authorizations as unknown[]) : [];
  if (all.length === 0 || all.length > AUTHORIZATIONS_MAX)
    throw new AcmeFault(`the order has ${all.length} authorizations, where 1 to ${AUTHORIZATIONS_MAX} are the rule`);
  return all.map((url) => readUrl('an authorization of the order', url));
}

export type ChallengeType = 'http-01' | 'tls-alpn-01' | 'dns-01';

export interface Challenge {
  url: string;
  token: string;
  /** It waits for our word that it may be looked at. */
  isPending: boolean;
}

export type Authorization =
  | { kind: 'valid'; name: string }
  | { kind: 'pending'; name: string; challenge: Challenge }
  | { kind: 'failed'; fault: AcmeFault };

/** RFC 8555 §8.3: the alphabet of base64url and at least 128 bits; no more than a path of ours should hold. */
export const isToken = (text: string): boolean => /^[A-Za-z0-9_-]{22,256}$/.test(text);

/** How a name is proven, by the kind of challenge that is chosen. */
export function readAuthorization(answer: RawAnswer, wanted: ChallengeType): Authorization {
  const fields = readFields('an authorization', answer);
  const { value } = fieldsIn(fields.identifier);
  // RFC 8555 §7.1.4: of a wildcard, the asterisk is left out.
  const asterisk = fields.wildcard === true ? '*.' : '';
  const name = typeof value === 'string' ? asterisk + value.toLowerCase() : '';
  const { challenges, status } = fields;
  const all = Array.isArray(challenges) ? (challenges as unknown[]).map(fieldsIn) : [];
  if (status === 'valid') return { kind: 'valid', name };
  if (status !== 'pending') {
    const problem = all.map(({ error }) => error).find((error) => error !== undefined);
    return { kind: 'failed', fault: problemFault(`${name || 'a name'} was not proven: `, fieldsIn(problem)) };
  }
  const found = all.find(({ type }) => type === wanted);
  if (!found) throw new AcmeFault(`the authority offers no ${wanted} for ${name}; choose another acme.challenge`);
  const { token } = found;
  if (typeof token !== 'string' || !isToken(token))
    throw new AcmeFault(`the ${wanted} challenge for ${name} has no usable token`);
  const url = readUrl(`the ${wanted} challenge for ${name}`, found.url);
  return { kind: 'pending', name, challenge: { url, token, isPending: found.status === 'pending' } };
}
